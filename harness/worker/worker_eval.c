/*
 * worker_eval: runs a kernel on the operands of a safetensors file and writes the results to another.  The
 * parent has completed the problem from the file.
 *
 * Results have q's layout: (B, H, S, D) or (B, S, H * D); packed (H, rows, D) or (1, H, rows, D).
 */
#include <stdlib.h>
#include <string.h>

#include "problem/operands_file.h"
#include "problem/tensors.h"
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

/* A kind of result. */
struct result {
    unsigned output; /* enum attn_output */
    const char *name;
    const struct attn_tensor *tensor;
    size_t length; /* elements of a row; 0: a single number */
    bool flat;
};

/* A dense copy in the file's layout; NULL if memory runs out. */
static void *dense_copy(const struct result *r, const struct rows *rows, size_t row_bytes)
{
    char *data = calloc(rows->batch * rows->heads * rows->rows, row_bytes);
    for (size_t b = 0; data && b < rows->batch; b++)
        for (size_t h = 0; h < rows->heads; h++)
            for (size_t i = 0; i < rows->rows; i++) {
                const size_t row = r->flat ? (b * rows->rows + i) * rows->heads + h
                                           : (b * rows->heads + h) * rows->rows + i;
                memcpy(data + row * row_bytes, attn_row(r->tensor, b, h, i), row_bytes);
            }
    return data;
}

static void set_shape(struct safetensor *out, const struct result *r, const struct rows *rows)
{
    const size_t whole[] = {rows->batch, rows->heads, rows->rows, r->length};
    const size_t flat[] = {rows->batch, rows->rows, rows->heads * r->length};
    const size_t first = rows->bare;
    out->rank = r->flat ? 3 : (r->length ? 4 : 3) - first;
    memcpy(out->shape, r->flat ? flat : whole + first, out->rank * sizeof *out->shape);
}

/* Copies the results in `outputs`; returns how many, or -1 if memory runs out. */
static int copy_results(const struct result *results, size_t count, unsigned outputs,
                        const struct rows *rows, struct safetensor *out, void **data)
{
    int n = 0;
    for (size_t i = 0; i < count; i++) {
        const struct result *r = &results[i];
        if (!(outputs & r->output))
            continue;
        const size_t row_bytes = (r->length ? r->length : 1) * attn_dtype_size(r->tensor->dtype);
        if (!(data[n] = dense_copy(r, rows, row_bytes)))
            return -1;
        out[n] = (struct safetensor){.name = r->name,
                                     .dtype = r->tensor->dtype,
                                     .data = data[n],
                                     .bytes = rows->batch * rows->heads * rows->rows * row_bytes};
        set_shape(&out[n++], r, rows);
    }
    return n;
}

static void write_results(struct worker *worker, const struct attn_tensors *t,
                          const struct rows *rows)
{
    const struct attn_problem *p = &worker->request.c.problem;
    const struct result results[] = {
        {ATTN_OUTPUT_O, "o", &t->o, p->v_dim, rows->flat},
        {ATTN_OUTPUT_LSE, "lse", &t->lse, 0, false},
        {ATTN_OUTPUT_WEIGHTS, "weights", &t->weights, p->kv_len, false},
        {ATTN_OUTPUT_SCORES, "scores", &t->scores, p->kv_len, false},
    };
    enum { RESULTS = sizeof results / sizeof *results };
    struct safetensor out[RESULTS];
    void *data[RESULTS] = {NULL};
    char message[512] = "out of memory";
    const int count = copy_results(results, RESULTS, p->outputs, rows, out, data);
    if (count < 0 ||
        !safetensors_write(worker->request.path_out, out, (size_t)count, message, sizeof message))
        worker_end(worker, CELL_SKIPPED, "%s", message);
    for (int n = 0; n < RESULTS; n++)
        free(data[n]);
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
    const struct operands_file file = {safetensors_open(r->path_in, message, sizeof message),
                                       r->path_in, r->c.input.prefix, message, sizeof message};
    if (file.file && read_operands(&file, &r->c.problem, &set, &rows)) {
        worker_stage("computing");
        attn_execute(&plan.plan, &set.tensors);
        aftermath_end(r->threads, left); /* results are written even if it fails */
        write_results(worker, &set.tensors, &rows);
        tensors_free(&set);
    } else {
        worker_end(worker, CELL_SKIPPED, "%s", message);
    }
    safetensors_close(file.file);
    worker_plan_close(&plan);
}
