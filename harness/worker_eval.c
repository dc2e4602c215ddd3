/*
 * worker_eval: q, k, v from a safetensors file through a kernel into another one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "safetensors.h"
#include "tensors.h"
#include "worker.h"

/* ---- in -------------------------------------------------------------------------------------- */

/* Finds q, k and v of four dimensions each and takes their lengths into the problem. */
static bool take_shapes(struct worker *worker, const struct safetensors *file,
                        const struct safetensor *found[3])
{
    static const char *const names[3] = {"q", "k", "v"};
    struct attn_problem *p = &worker->request.c.problem;
    for (int i = 0; i < 3; i++) {
        found[i] = safetensors_find(file, names[i]);
        if (!found[i] || found[i]->rank != 4) {
            worker_end(worker, CELL_SKIPPED, "%s: no tensor %s of four dimensions (B, H, S, D)",
                       worker->request.path_in, names[i]);
            return false;
        }
    }
    const size_t *q = found[0]->shape, *k = found[1]->shape, *v = found[2]->shape;
    p->batch = q[0];
    p->q_heads = q[1];
    p->kv_heads = k[1];
    p->q_len = q[2];
    p->kv_len = k[2];
    p->qk_dim = q[3];
    p->v_dim = v[3];
    return true;
}

/* Whether the three shapes belong together and make a problem. */
static bool shapes_agree(struct worker *worker, const struct safetensor *const found[3])
{
    const struct attn_problem *p = &worker->request.c.problem;
    const size_t k[4] = {p->batch, p->kv_heads, p->kv_len, p->qk_dim};
    const size_t v[4] = {p->batch, p->kv_heads, p->kv_len, p->v_dim};
    const size_t q[4] = {p->batch, p->q_heads, p->q_len, p->qk_dim};
    const size_t *const expected[3] = {q, k, v};
    const char *why;
    char shape[SAFETENSORS_SHAPE_TEXT];
    for (int i = 0; i < 3; i++)
        if (!safetensors_is_shape(found[i], expected[i], 4)) {
            safetensors_print_shape(found[i], shape);
            worker_end(worker, CELL_SKIPPED, "%s: %s is %s, which does not fit the others",
                       worker->request.path_in, found[i]->name, shape);
            return false;
        }
    if (attn_problem_valid(p, &why))
        return true;
    worker_end(worker, CELL_SKIPPED, "%s: %s", worker->request.path_in, why);
    return false;
}

static void copy_in(const struct safetensor *from, const struct attn_tensor *to)
{
    size_t at = 0;
    for (size_t b = 0; b < from->shape[0]; b++)
        for (size_t h = 0; h < from->shape[1]; h++)
            for (size_t i = 0; i < from->shape[2]; i++)
                for (size_t d = 0; d < from->shape[3]; d++)
                    tensors_set(to, b, h, i, d, safetensors_get(from, at++));
}

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

static void compute(struct worker *worker, const struct safetensor *const found[3])
{
    static const struct tensors_layout layout = {.guard = TENSORS_TIMING};
    struct worker_plan plan;
    struct tensor_set set;
    char message[256];
    if (!worker_plan_open(worker, &plan))
        return;
    if (tensors_alloc(&set, &worker->request.c.problem, &layout, message, sizeof message)) {
        copy_in(found[0], &set.tensors.q);
        copy_in(found[1], &set.tensors.k);
        copy_in(found[2], &set.tensors.v);
        worker_stage("computing");
        attn_execute(&plan.plan, &set.tensors);
        write_results(worker, &set.tensors);
        tensors_free(&set);
    } else {
        worker_end(worker, CELL_SKIPPED, "%s", message);
    }
    worker_plan_close(&plan);
}

void worker_eval(struct worker *worker)
{
    const struct safetensor *found[3];
    char message[512];
    worker_stage("reading the input");
    struct safetensors *file = safetensors_open(worker->request.path_in, message, sizeof message);
    if (!file) {
        worker_end(worker, CELL_SKIPPED, "%s", message);
        return;
    }
    if (take_shapes(worker, file, found) && shapes_agree(worker, found))
        compute(worker, found);
    safetensors_close(file);
}
