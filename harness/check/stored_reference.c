/*
 * stored_reference: rows of the reference in memory files, for later checks of the same inputs.
 *
 * kernels/reference.c explains how a row and its bounds are computed.
 *
 * A file is a sequence of rows, each with LSE and its bound, O, the bounds of O of an f32 kernel and, where
 * kernels may compute in bf16, the magnitudes from which their additional bounds follow.  Reading stops at the
 * first row whose hash does not fit.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xxhash.h>

#include "compare.h"
#include "system/lines.h"
#include "system/memory_file.h"

/* A row in a file; O, bounds and magnitudes follow. */
struct file_row {
    uint64_t hash;  /* of all that follows it */
    uint64_t input; /* of stored_input() */
    size_t number, bytes;
    double lse, lse_bound;
};

static struct {
    void *mapping[2]; /* for reading: of rows of earlier checks, and of new ones */
    size_t bytes[2], written;
    struct memory_file file;       /* for new rows */
    int fd;                        /* of it; -1: new rows are not stored */
    size_t room;                   /* bytes that new rows may still take */
    const struct file_row **table; /* a row is at the place of its hash or the next free one */
    size_t places, count;
} store = {.fd = -1};

/* ---- looking up ------------------------------------------------------------------------------ */

uint64_t stored_input(const struct attn_problem *problem, const struct tensor_set *set)
{
    const struct tensors_shape *shape = &set->shape; /* padding follows its last member */
    char text[PARSE_TEXT];
    struct attn_problem p = *problem;
    p.outputs = ATTN_OUTPUT_O;
    parse_print_problem(&p, text);
    uint64_t hash = XXH3_64bits(set->checksum, sizeof set->checksum);
    hash = XXH3_64bits_withSeed(shape, offsetof(struct tensors_shape, bias_dtype), hash);
    hash = XXH3_64bits_withSeed(&shape->bias_dtype, sizeof shape->bias_dtype, hash);
    return XXH3_64bits_withSeed(text, strlen(text), hash);
}

/* The place of a row, or the gap where it would be. */
static size_t place_of(uint64_t input, size_t number)
{
    size_t at = XXH3_64bits_withSeed(&number, sizeof number, input) & (store.places - 1);
    while (store.table[at] &&
           (store.table[at]->input != input || store.table[at]->number != number))
        at = (at + 1) & (store.places - 1);
    return at;
}

/* Doubles the table; false without memory. */
static bool grow(void)
{
    const struct file_row **old = store.table;
    const size_t places = store.places;
    const struct file_row **table = calloc(places ? 2 * places : 1024, sizeof(*table));
    if (!table)
        return false;
    store.table = table;
    store.places = places ? 2 * places : 1024;
    for (size_t n = 0; n < places; n++)
        if (old[n])
            table[place_of(old[n]->input, old[n]->number)] = old[n];
    free(old);
    return true;
}

static uint64_t hash_of(const struct file_row *row)
{
    return XXH3_64bits(&row->input, row->bytes - offsetof(struct file_row, input));
}

/* Puts the rows between two places of a file into the table, as long as they are whole and there is memory.
 * Returns where it stopped. */
static const char *add_rows(const char *at, const char *end)
{
    while ((size_t)(end - at) >= sizeof(struct file_row)) {
        const struct file_row *row = (const struct file_row *)at;
        if (row->bytes < sizeof *row || row->bytes > (size_t)(end - at) || row->bytes % 8 ||
            row->hash != hash_of(row) || (2 * store.count >= store.places && !grow()))
            break;
        const struct file_row **place = &store.table[place_of(row->input, row->number)];
        store.count += !*place;
        *place = row;
        at += row->bytes;
    }
    return at;
}

static void map(int n, int fd, size_t bytes)
{
    if (fd < 0 || !bytes)
        return;
    store.mapping[n] = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    store.bytes[n] = bytes;
    if (store.mapping[n] == MAP_FAILED)
        store.mapping[n] = NULL;
}

/* Forgets all rows; new ones go to `fd`. */
static void begin(int fd, size_t room)
{
    for (int n = 0; n < 2; n++)
        if (store.mapping[n])
            munmap(store.mapping[n], store.bytes[n]);
    free(store.table);
    memset(&store, 0, sizeof store);
    store.fd = memory_file_locate(fd, &store.file) ? fd : -1;
    store.room = room;
}

void stored_reference_use(int known, int fresh)
{
    struct memory_file file;
    begin(fresh, 0);
    map(0, known, memory_file_locate(known, &file) ? file.bytes : 0);
    const char *first = store.mapping[0];
    if (first)
        store.room = (size_t)(first + store.bytes[0] - add_rows(first, first + store.bytes[0]));
    map(1, store.fd, store.room);
    if (!store.mapping[1])
        store.fd = -1;
}

/* ---- rows of one input ----------------------------------------------------------------------- */

static bool has_magnitudes(const struct attn_problem *p)
{
    return p->dtype != ATTN_F64;
}

static size_t row_bytes(const struct attn_problem *p)
{
    return sizeof(struct file_row) + p->v_dim * (has_magnitudes(p) ? 3 : 2) * sizeof(double);
}

static const struct file_row *find(uint64_t input, size_t number)
{
    return input && store.count ? store.table[place_of(input, number)] : NULL;
}

void stored_open(struct stored *s, const struct attn_problem *p, uint64_t input, const size_t *rows,
                 size_t count)
{
    const bool other = p->outputs & (ATTN_OUTPUT_WEIGHTS | ATTN_OUTPUT_SCORES);
    *s = (struct stored){.input = other ? 0 : input};
    size_t missing = 0;
    for (size_t k = 0; store.fd >= 0 && k < count; k++)
        missing += !find(s->input, rows[k]);
    if (s->input && missing && missing <= store.room / row_bytes(p))
        s->fresh = malloc(missing * row_bytes(p));
}

static void keep(struct stored *s, const struct attn_problem *p, size_t number,
                 const struct attn_reference_row *row)
{
    const size_t n = p->v_dim, bytes = row_bytes(p);
    size_t at;
#pragma omp atomic capture
    at = s->count++;
    struct file_row *stored = (struct file_row *)(s->fresh + at * bytes);
    double *o = (double *)(stored + 1);
    *stored = (struct file_row){0, s->input, number, bytes, row->lse, row->lse_bound};
    memcpy(o, row->o, n * sizeof *o);
    memcpy(o + n, row->bound, n * sizeof *o);
    if (has_magnitudes(p))
        memcpy(o + 2 * n, row->magnitude, n * sizeof *o);
    stored->hash = hash_of(stored);
}

static void copy(const struct file_row *stored, const struct attn_problem *p,
                 struct attn_reference_row *row)
{
    const size_t n = p->v_dim;
    const double *o = (const double *)(stored + 1);
    assert(stored->bytes == row_bytes(p));
    row->lse = stored->lse;
    row->lse_bound = stored->lse_bound;
    memcpy(row->o, o, n * sizeof *o);
    memcpy(row->bound, o + n, n * sizeof *o);
    if (has_magnitudes(p))
        memcpy(row->magnitude, o + 2 * n, n * sizeof *o);
}

void stored_row(struct stored *s, const struct attn_kernel *kernel, const struct attn_problem *p,
                const struct attn_tensors *tensors, size_t number, struct reference_row *row)
{
    const struct tensors_place at = tensors_place(p, tensors, number);
    const struct file_row *stored = find(s->input, number);
    if (!stored && !s->fresh) {
        reference_row_compute(row, kernel, p, tensors, at);
        return;
    }
    if (stored) {
        copy(stored, p, &row->reference);
    } else {
        reference_row_compute(row, NULL, p, tensors, at);
        keep(s, p, number, &row->reference);
    }
    reference_row_widen(row, kernel, p);
}

/* Appends bytes to the file of new rows; false if the kernel has closed it or not all could be written. */
static bool append(const char *data, size_t bytes)
{
    struct memory_file now;
    if (!memory_file_locate(store.fd, &now) || now.device != store.file.device ||
        now.inode != store.file.inode)
        return false;
    if (lines_write(store.fd, data, bytes))
        return true;
    const int cut = ftruncate(store.fd, (off_t)store.written); /* no part of a row */
    (void)cut;
    return false;
}

void stored_close(struct stored *s, const struct attn_problem *p)
{
    const size_t bytes = s->count * row_bytes(p);
    if (bytes && !append(s->fresh, bytes)) {
        store.fd = -1;
    } else if (bytes) {
        const char *file = store.mapping[1];
        if (file)
            add_rows(file + store.written, file + store.written + bytes);
        store.written += bytes;
        store.room -= bytes;
    }
    free(s->fresh);
    s->fresh = NULL;
}

/* ---- the case's own input -------------------------------------------------------------------- */

/* Rows that are computed before they are written. */
#define BLOCK 4096

static bool compute_rows(const struct attn_problem *p, const struct tensor_set *set,
                         const size_t *rows, size_t count)
{
    static const struct attn_kernel plain; /* with the bounds of the reference itself */
    struct stored stored;
    bool memory = true;
    stored_open(&stored, p, stored_input(p, set), rows, count);
#pragma omp parallel reduction(&& : memory)
    {
        struct reference_row row;
        const bool ready = reference_row_open(&row, p, REFERENCE_BOUND | REFERENCE_MAGNITUDE);
#pragma omp for schedule(dynamic, 4)
        for (size_t k = 0; k < count; k++)
            if (ready && stored.fresh)
                stored_row(&stored, &plain, p, &set->tensors, rows[k], &row);
        memory = ready;
        reference_row_close(&row);
    }
    stored_close(&stored, p);
    return memory && store.fd >= 0;
}

bool stored_reference_create(const struct problem_case *c, int fd, struct message message)
{
    struct tensor_set set;
    size_t *rows = NULL;
    const struct tensors_layout layout = {.guard = TENSORS_TIMING};
    if (!tensors_alloc_case(&set, c, &layout, message))
        return false;
    const bool filled = tensors_fill(&set, c, 0, message);
    const size_t count = filled ? pick_own(c, &set.tensors, &rows) : 0;
    bool computed = rows;
    begin(fd, SIZE_MAX);
    for (size_t k = 0; computed && k < count; k += BLOCK)
        computed = compute_rows(&c->problem, &set, rows + k, count - k < BLOCK ? count - k : BLOCK);
    begin(-1, 0);
    if (filled && !computed)
        message_print(message, "no memory for the reference");
    free(rows);
    tensors_free(&set);
    return computed;
}
