/*
 * worker_eval: runs a kernel on the operands of a safetensors file and writes the results to another.  The
 * parent has completed the problem from the file.
 *
 * Results have q's layout: (B, H, S, D) or (B, S, H * D); packed (H, rows, D) or (1, H, rows, D).
 */
#include <stdlib.h>
#include <string.h>

#include "problem/operands_file.h"
#include "problem/tensors_view.h"
#include "system/aftermath.h"
#include "worker.h"
#include "worker_plan.h"

/* ---- output ---------------------------------------------------------------------------------- */

/* The results' rows and their layout in the file. */
struct rows {
    size_t batch, heads, rows;
    bool flat; /* the heads of o in one row: (B, S, H * D) */
    bool bare; /* packed, without a first dimension of 1 */
};

/* Makes a dense copy of a result, in the file's layout; false if memory runs out. */
static bool copy_result(const struct tensors_view *view, const struct rows *rows,
                        struct safetensor *out)
{
    const bool flat = rows->flat && strcmp(view->name, "o") == 0;
    const size_t length = view->dense == 3 ? view->cols : 0; /* of a row; of LSE a number */
    const size_t whole[] = {rows->batch, rows->heads, rows->rows, length};
    const size_t in_one[] = {rows->batch, rows->rows, rows->heads * length};
    const size_t count = rows->batch * rows->heads * rows->rows, bare = rows->bare;
    const size_t row_bytes = (length ? length : 1) * attn_dtype_size(view->dtype);
    char *data = calloc(count, row_bytes);
    for (size_t b = 0; data && b < rows->batch; b++)
        for (size_t h = 0; h < rows->heads; h++)
            for (size_t i = 0; i < rows->rows; i++) {
                const size_t row = flat ? (b * rows->rows + i) * rows->heads + h
                                        : (b * rows->heads + h) * rows->rows + i;
                memcpy(data + row * row_bytes, attn_row(view->t, b, h, i), row_bytes);
            }
    *out = (struct safetensor){.name = view->name,
                               .dtype = view->dtype,
                               .rank = flat ? 3 : (length ? 4 : 3) - bare,
                               .data = data,
                               .bytes = count * row_bytes};
    memcpy(out->shape, flat ? in_one : whole + bare, out->rank * sizeof *out->shape);
    return data;
}

static void write_results(struct worker *worker, const struct tensor_set *set,
                          const struct rows *rows)
{
    struct tensors_view views[TENSORS_RESULTS];
    struct safetensor out[TENSORS_RESULTS];
    char message[512] = "out of memory";
    bool copied = true;
    const size_t count =
        tensors_results(&set->tensors, &worker->request.c.problem, &set->shape, views);
    for (size_t n = 0; n < count; n++)
        copied = copy_result(&views[n], rows, &out[n]) && copied;
    if (!copied || !safetensors_write(worker->request.path_out, out, count, MESSAGE(message)))
        worker_end(worker, CELL_SKIPPED, "%s", message);
    for (size_t n = 0; n < count; n++)
        free((void *)out[n].data);
}

/* ---- input ----------------------------------------------------------------------------------- */

/* Allocates and reads the operands of an open file. */
static bool read_operands(const struct operands_file *file, const struct attn_problem *p,
                          struct tensor_set *set, struct rows *rows)
{
    static const struct tensors_layout layout = {.guard = TENSORS_TIMING};
    if (!operands_file_load(file, set, p, &layout))
        return false;
    const bool packed = p->options & ATTN_OPTION_PACKED;
    const bool three = operands_named(file, OPERAND_Q)->rank == 3;
    *rows = (struct rows){packed ? 1 : p->batch, p->q_heads, packed ? set->shape.q_rows : p->q_len,
                          three && !packed, three && packed};
    return true;
}

/* ---- the action ------------------------------------------------------------------------------ */

void worker_eval(struct worker *worker)
{
    const struct protocol_request *r = &worker->request;
    struct worker_plan plan;
    struct tensor_set set;
    struct rows rows;
    char message[sizeof r->path_in + 512], left[AFTERMATH_TEXT];
    aftermath_begin(r->threads);
    if (!worker_plan_open(worker, &plan))
        return;
    worker_stage("reading the input");
    const struct operands_file file = {safetensors_open(r->path_in, MESSAGE(message)), r->path_in,
                                       r->c.input.prefix, MESSAGE(message)};
    if (file.file && read_operands(&file, &r->c.problem, &set, &rows)) {
        worker_stage("computing");
        attn_execute(&plan.plan, &set.tensors);
        aftermath_end(r->threads, left); /* results are written even if it fails */
        write_results(worker, &set, &rows);
        tensors_free(&set);
    } else {
        worker_end(worker, CELL_SKIPPED, "%s", message);
    }
    safetensors_close(file.file);
    worker_plan_close(&plan);
}
