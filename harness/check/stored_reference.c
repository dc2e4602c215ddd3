/*
 * stored_reference: the reference of a case's own input, kept in a memory file.
 *
 * kernels/reference.c explains how a row and its bound are computed.
 *
 * The file has a header, the numbers of its rows (all, or a sample where all would take too long), and for
 * each row LSE with its bound, O, and for each element of O the bound of an f32 kernel and the magnitude from
 * which the additional bound of a bf16 kernel follows.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compare.h"

struct header {
    struct attn_problem problem;
    struct input input;
    size_t rows;
    size_t complete; /* set last, to detect a writer that was killed */
};

/* One stored row; o, bound and magnitude follow it. */
struct stored_row {
    double lse, lse_bound;
};

static struct {
    const struct header *header; /* NULL where none is in use */
    size_t bytes;
} lent;

static size_t row_bytes(const struct attn_problem *p)
{
    return sizeof(struct stored_row) + p->v_dim * 3 * sizeof(double);
}

static size_t file_bytes(const struct attn_problem *p, size_t rows)
{
    return sizeof(struct header) + rows * (sizeof(size_t) + row_bytes(p));
}

static const size_t *row_numbers(const struct header *header)
{
    return (const size_t *)(header + 1);
}

static char *row_at(const struct header *header, size_t index)
{
    return (char *)(uintptr_t)(row_numbers(header) + header->rows) +
           index * row_bytes(&header->problem);
}

/* ---- writing ------------------------------------------------------------------------------- */

static void store_row(const struct header *header, size_t index,
                      const struct attn_reference_row *row)
{
    const size_t n = header->problem.v_dim;
    struct stored_row *stored = (struct stored_row *)row_at(header, index);
    double *o = (double *)(stored + 1);
    *stored = (struct stored_row){row->lse, row->lse_bound};
    memcpy(o, row->o, n * sizeof *o);
    memcpy(o + n, row->bound, n * sizeof *o);
    memcpy(o + 2 * n, row->magnitude, n * sizeof *o);
}

static bool compute_rows(const struct header *header, const struct attn_tensors *tensors)
{
    const struct attn_problem *p = &header->problem;
    bool memory = true;
#pragma omp parallel
    {
        struct check_row row;
        const bool ready = check_row_open(&row, p, CHECK_BOUND | CHECK_MAGNITUDE);
#pragma omp for schedule(dynamic, 4)
        for (size_t k = 0; k < header->rows; k++)
            if (ready) {
                const struct tensors_place at = tensors_place(p, tensors, row_numbers(header)[k]);
                attn_reference(p, tensors, at.b, at.h, at.i, ATTN_F32, 0, row.workspace,
                               &row.reference);
                store_row(header, k, &row.reference);
            }
        if (!ready) {
#pragma omp atomic write
            memory = false;
        }
        check_row_close(&row);
    }
    return memory;
}

static struct header *map_new(const struct problem_case *c, const size_t *rows, size_t count,
                              int fd, char *message, size_t message_size)
{
    const size_t bytes = file_bytes(&c->problem, count);
    const int error = posix_fallocate(fd, 0, (off_t)bytes);
    struct header *header = MAP_FAILED;
    if (!error)
        header = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (header == MAP_FAILED) {
        snprintf(message, message_size, "cannot keep %zu bytes of the reference: %s", bytes,
                 strerror(error ? error : errno));
        return NULL;
    }
    header->problem = c->problem;
    header->input = c->input;
    header->rows = count;
    memcpy(header + 1, rows, count * sizeof *rows);
    return header;
}

bool check_reference_create(const struct problem_case *c, int fd, char *message,
                            size_t message_size)
{
    struct tensor_set set;
    size_t *rows;
    const struct tensors_layout layout = {.guard = TENSORS_TIMING};
    if (!tensors_alloc_case(&set, c, &layout, message, message_size))
        return false;
    bool ok = tensors_fill(&set, c, 0, message, message_size);
    const size_t count = check_pick_rows(&c->problem, &set.tensors, 1,
                                         check_affordable_rows(&c->problem), c->input.seed, &rows);
    struct header *header = ok && rows ? map_new(c, rows, count, fd, message, message_size) : NULL;
    if (!rows)
        snprintf(message, message_size, "out of memory");
    ok = header && compute_rows(header, &set.tensors);
    if (header) {
        header->complete = ok;
        munmap(header, file_bytes(&c->problem, count));
    }
    free(rows);
    tensors_free(&set);
    return ok;
}

/* ---- reading ------------------------------------------------------------------------------- */

void check_reference_use(int fd)
{
    struct stat status;
    if (lent.header)
        munmap((void *)(uintptr_t)lent.header, lent.bytes);
    lent.header = NULL;
    if (fd < 0 || fstat(fd, &status) != 0 || (size_t)status.st_size < sizeof(struct header))
        return;
    lent.bytes = (size_t)status.st_size;
    const struct header *header = mmap(NULL, lent.bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (header == MAP_FAILED)
        return;
    lent.header = header;
    if (!header->complete || file_bytes(&header->problem, header->rows) > lent.bytes)
        check_reference_use(-1);
}

/* Whether the case has the same operands; outputs and layout do not matter. */
static bool same_case(const struct problem_case *c, const struct header *header)
{
    struct problem_case stored = *c;
    stored.problem = header->problem;
    stored.problem.outputs = c->problem.outputs;
    stored.problem.layout = c->problem.layout;
    stored.input = header->input;
    return case_text_same(&stored, c);
}

const size_t *check_stored_rows(const struct problem_case *c, size_t *count)
{
    const unsigned not_stored = ATTN_OUTPUT_WEIGHTS | ATTN_OUTPUT_SCORES;
    if (!lent.header || c->problem.outputs & not_stored || !same_case(c, lent.header))
        return NULL;
    *count = lent.header->rows;
    return row_numbers(lent.header);
}

/* Row numbers ascend. */
static size_t index_of(size_t row)
{
    const size_t *numbers = row_numbers(lent.header);
    const size_t *found = bsearch(&row, numbers, lent.header->rows, sizeof row, check_ascending);
    return found ? (size_t)(found - numbers) : 0;
}

void check_stored_row(const struct attn_kernel *kernel, size_t number,
                      struct attn_reference_row *row)
{
    const struct attn_problem *p = &lent.header->problem;
    const struct stored_row *stored =
        (const struct stored_row *)row_at(lent.header, index_of(number));
    const double *o_stored = (const double *)(stored + 1);
    const double *bounds = o_stored + p->v_dim, *magnitudes = bounds + p->v_dim;
    const double factor = kernel->caps.bound_factor > 0 ? kernel->caps.bound_factor : 1;
    const bool bf16 = attn_compute(kernel, p) == ATTN_BF16;
    const bool empty = isinf(stored->lse) && stored->lse < 0;
    for (size_t d = 0; d < p->v_dim; d++) {
        double b = bounds[d];
        if (bf16 && !empty)
            b += attn_reference_bf16_extra(p, magnitudes[d]);
        row->o[d] = o_stored[d];
        row->bound[d] = factor * b;
    }
    row->lse = stored->lse;
    row->lse_bound =
        factor * (stored->lse_bound + (bf16 && !empty ? attn_reference_bf16_extra_lse() : 0));
}
