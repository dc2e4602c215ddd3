/*
 * eval: q, k, v from a safetensors file through a kernel into another one; the parent has
 * taken the shapes from the file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "problem/operands_file.h"
#include "worker.h"

/* ---- out ------------------------------------------------------------------------------------- */

/* Dense copy of a result's rows, in the order of a file; NULL where memory is missing. */
static void *dense_copy(const struct attn_tensor *from, const size_t *shape, size_t row_bytes)
{
    char *data = calloc(shape[0] * shape[1] * shape[2], row_bytes);
    size_t row = 0;
    for (size_t b = 0; data && b < shape[0]; b++)
        for (size_t h = 0; h < shape[1]; h++)
            for (size_t i = 0; i < shape[2]; i++)
                memcpy(data + row++ * row_bytes, attn_row(from, b, h, i), row_bytes);
    return data;
}

/* One kind of result, and its place in the problem. */
struct result {
    unsigned output; /* enum attn_output */
    const char *name;
    const struct attn_tensor *tensor;
    size_t rank;
    size_t shape[4];
};

/* Copies the wanted results into `out`; returns how many, or -1 where memory is missing. */
static int copy_results(const struct result *results, size_t count, unsigned outputs,
                        struct safetensor *out, void **data)
{
    int n = 0;
    for (size_t i = 0; i < count; i++) {
        const struct result *r = &results[i];
        if (!(outputs & r->output))
            continue;
        const size_t length = r->rank == 4 ? r->shape[3] : 1;
        const size_t row_bytes = length * attn_dtype_size(r->tensor->dtype);
        if (!(data[n] = dense_copy(r->tensor, r->shape, row_bytes)))
            return -1;
        out[n] = (struct safetensor){.name = r->name,
                                     .dtype = r->tensor->dtype,
                                     .rank = r->rank,
                                     .data = data[n],
                                     .bytes = r->shape[0] * r->shape[1] * r->shape[2] * row_bytes};
        memcpy(out[n++].shape, r->shape, sizeof r->shape);
    }
    return n;
}

static void write_results(struct worker *worker, const struct attn_tensors *t)
{
    const struct attn_problem *p = &worker->request.c.problem;
    const size_t b = p->batch, h = p->q_heads, i = p->q_len;
    const struct result results[] = {
        {ATTN_OUTPUT_O, "o", &t->o, 4, {b, h, i, p->v_dim}},
        {ATTN_OUTPUT_LSE, "lse", &t->lse, 3, {b, h, i, 1}},
        {ATTN_OUTPUT_WEIGHTS, "weights", &t->weights, 4, {b, h, i, p->kv_len}},
    };
    struct safetensor out[3];
    void *data[3] = {NULL};
    char message[512] = "out of memory";
    const int count = copy_results(results, 3, p->outputs, out, data);
    if (count < 0 ||
        !safetensors_write(worker->request.path_out, out, (size_t)count, message, sizeof message))
        worker_end(worker, CELL_SKIPPED, "%s", message);
    for (int n = 0; n < 3; n++)
        free(data[n]);
}

/* ---- the action ------------------------------------------------------------------------------ */

void worker_eval(struct worker *worker)
{
    static const struct tensors_layout layout = {.guard = TENSORS_TIMING};
    const struct protocol_request *r = &worker->request;
    struct worker_plan plan;
    struct tensor_set set;
    char message[512];
    if (!worker_plan_open(worker, &plan))
        return;
    worker_stage("reading the input");
    if (operands_file_load(&set, &r->c.problem, &layout, r->path_in, r->c.input.prefix, message,
                           sizeof message)) {
        worker_stage("computing");
        attn_execute(&plan.plan, &set.tensors);
        write_results(worker, &set.tensors);
        tensors_free(&set);
    } else {
        worker_end(worker, CELL_SKIPPED, "%s", message);
    }
    worker_plan_close(&plan);
}
