/*
 * self_attention: projections by CBLAS around a kernel.
 *
 *   memory    Q, K, V and, before an output projection, O in the workspace, once each
 *   parallel  projections over blocks of rows, the kernel as it is
 */
#include "self_attention.h"

#include <cblas.h>
#include <limits.h>
#include <omp.h>
#include <string.h>

#include "blas.h"

/* Rows of one call of the library: fixed, since the last bits of a product depend on its shape.
 * From 128 on sgemm is as fast as it gets (kernel gemm). */
enum { ROWS = 128 };

/* Y = X W + b, or X W where there is no b. */
struct projection {
    const float *x, *w, *b;
    float *y;
    size_t from, to; /* columns of X and of Y */
    size_t rows;
};

static size_t aligned(size_t bytes)
{
    return (bytes + ATTN_WORKSPACE_ALIGN - 1) / ATTN_WORKSPACE_ALIGN * ATTN_WORKSPACE_ALIGN;
}

static void project_block(const struct projection *p, size_t row)
{
    const size_t rows = p->rows - row < ROWS ? p->rows - row : ROWS;
    float *y = p->y + row * p->to;
    for (size_t i = 0; p->b && i < rows; i++)
        memcpy(y + i * p->to, p->b, p->to * sizeof *y);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)rows, (int)p->to, (int)p->from, 1,
                p->x + row * p->from, (int)p->from, p->w, (int)p->to, p->b ? 1 : 0, y, (int)p->to);
}

static void project(const struct projection *projections, size_t count, int threads)
{
    size_t most = 0;
    for (size_t i = 0; i < count; i++)
        most = projections[i].rows > most ? projections[i].rows : most;
#pragma omp parallel num_threads(threads)
    {
        omp_set_num_threads(1); /* of this region's tasks: what an OpenMP library goes by */
#pragma omp for collapse(2) schedule(dynamic, 1)
        for (size_t i = 0; i < count; i++)
            for (size_t row = 0; row < most; row += ROWS)
                if (row < projections[i].rows)
                    project_block(&projections[i], row);
    }
}

static size_t keys_of(const struct attn_self_attention *layer)
{
    return layer->context_len ? layer->context_len : layer->len;
}

void attn_self_attention_problem(const struct attn_self_attention *layer,
                                 struct attn_problem *problem)
{
    attn_problem_init(problem);
    problem->batch = layer->batch;
    problem->q_heads = problem->kv_heads = layer->heads;
    problem->q_len = layer->len;
    problem->kv_len = keys_of(layer);
    problem->qk_dim = layer->qk_dim;
    problem->v_dim = layer->v_dim;
    problem->layout = ATTN_BSHD;
    problem->mask = layer->mask;
    problem->outputs = ATTN_OUTPUT_O | (layer->weights ? ATTN_OUTPUT_WEIGHTS : 0);
    problem->scale = layer->scale;
    if (layer->scale == 0 && layer->scale_by_v_dim)
        problem->scale = (float)(1 / __builtin_sqrt((double)layer->v_dim));
    problem->options = layer->options;
    problem->softcap = layer->softcap;
    /* a layer that leaves them out has 0, which means none where the option is off */
    const bool none =
        !(layer->options & ATTN_OPTION_WINDOW) && !layer->window_left && !layer->window_right;
    problem->window_left = none ? -1 : layer->window_left;
    problem->window_right = none ? -1 : layer->window_right;
}

/* Bytes of one projected operand of so many rows a sequence. */
static size_t projected(const struct attn_self_attention *layer, size_t len, size_t dim)
{
    return aligned(layer->batch * len * layer->heads * dim * sizeof(float));
}

static bool valid(const struct attn_self_attention *layer, const char **why)
{
    const unsigned layouts = ATTN_OPTION_PAGED | ATTN_OPTION_PACKED | ATTN_OPTION_SHARED_KV;
    struct attn_problem problem;
    if (layer->size < sizeof *layer) {
        *why = "the layer's size field is not set";
        return false;
    }
    attn_self_attention_problem(layer, &problem);
    if (!attn_problem_valid(&problem, why))
        return false;
    const bool half_a_context = !layer->context_len != !layer->context_d_in;
    const size_t widest = layer->qk_dim > layer->v_dim ? layer->qk_dim : layer->v_dim;
    *why = layer->options & layouts          ? "an option that lays out K and V otherwise"
           : layer->mask & ATTN_MASK_TREE    ? "a tree of drafts"
           : layer->d_in == 0                ? "an input dimension of 0"
           : layer->d_in > INT_MAX           ? "an input dimension of 2^31 or more"
           : half_a_context                  ? "a context with a length or a dimension of 0"
           : layer->context_d_in > INT_MAX   ? "a context dimension of 2^31 or more"
           : layer->d_out > INT_MAX          ? "an output dimension of 2^31 or more"
           : widest > INT_MAX / layer->heads ? "a projection of 2^31 columns or more"
                                             : NULL;
    return !*why;
}

size_t attn_self_attention_workspace(const struct attn_self_attention *layer,
                                     const struct attn_kernel *kernel, int threads)
{
    struct attn_problem problem;
    const char *why;
    if (!valid(layer, &why))
        return 0;
    attn_self_attention_problem(layer, &problem);
    const size_t len = layer->len, keys = keys_of(layer);
    return projected(layer, len, layer->qk_dim) + projected(layer, keys, layer->qk_dim) +
           projected(layer, keys, layer->v_dim) +
           (layer->d_out ? projected(layer, len, layer->v_dim) : 0) +
           aligned(attn_workspace_size(kernel, &problem, threads));
}

bool attn_self_attention_init(struct attn_self_attention_plan *plan,
                              const struct attn_self_attention *layer,
                              const struct attn_kernel *kernel, int threads, void *workspace,
                              size_t workspace_bytes, const char **why)
{
    struct attn_problem problem;
    char *at = workspace;
    if (!valid(layer, why))
        return false;
    if (workspace_bytes < attn_self_attention_workspace(layer, kernel, threads)) {
        *why = "the workspace is too small";
        return false;
    }
    *plan = (struct attn_self_attention_plan){
        .size = sizeof *plan, .layer = *layer, .threads = threads};
    float **const parts[] = {&plan->q, &plan->k, &plan->v, &plan->o};
    const size_t dims[] = {layer->qk_dim, layer->qk_dim, layer->v_dim, layer->v_dim};
    const size_t lens[] = {layer->len, keys_of(layer), keys_of(layer), layer->len};
    for (size_t i = 0; i < (layer->d_out ? 4 : 3); i++) {
        *parts[i] = (float *)(void *)at;
        at += projected(layer, lens[i], dims[i]);
    }
    attn_self_attention_problem(layer, &problem);
    attn_blas_one_thread();
    return attn_plan_init(&plan->attention, kernel, &problem, threads, at,
                          workspace_bytes - (size_t)(at - (char *)workspace), why);
}

void attn_self_attention_destroy(struct attn_self_attention_plan *plan)
{
    attn_plan_destroy(&plan->attention);
}

void attn_self_attention_project(const struct attn_self_attention_plan *plan,
                                 const struct attn_self_attention_tensors *t)
{
    const struct attn_self_attention *l = &plan->layer;
    const size_t qk = l->heads * l->qk_dim, v = l->heads * l->v_dim;
    const bool cross = l->context_len;
    const float *y = cross ? t->context : t->x; /* what K and V are made from */
    const size_t from = cross ? l->context_d_in : l->d_in;
    const size_t rows = l->batch * l->len, keys = l->batch * keys_of(l);
    const struct projection projections[] = {{t->x, t->wq, t->bq, plan->q, l->d_in, qk, rows},
                                             {y, t->wk, t->bk, plan->k, from, qk, keys},
                                             {y, t->wv, t->bv, plan->v, from, v, keys}};
    project(projections, 3, plan->threads);
}

/* (batch, len, heads * dim) as (batch, heads, len, dim). */
static struct attn_tensor heads_of(const struct attn_self_attention *l, float *data, size_t len,
                                   size_t dim)
{
    const ptrdiff_t row = (ptrdiff_t)(l->heads * dim);
    return (struct attn_tensor){data, ATTN_F32, {(ptrdiff_t)len * row, (ptrdiff_t)dim, row, 1}};
}

void attn_self_attention_attend(const struct attn_self_attention_plan *plan,
                                const struct attn_self_attention_tensors *t)
{
    const struct attn_self_attention *l = &plan->layer;
    const ptrdiff_t keys = (ptrdiff_t)keys_of(l), rows = (ptrdiff_t)l->len * keys;
    struct attn_tensors tensors = {
        .size = sizeof tensors,
        .q = heads_of(l, plan->q, l->len, l->qk_dim),
        .k = heads_of(l, plan->k, keys_of(l), l->qk_dim),
        .v = heads_of(l, plan->v, keys_of(l), l->v_dim),
        .o = heads_of(l, l->d_out ? plan->o : t->y, l->len, l->v_dim),
        .bias = t->bias,
        .mask = t->mask,
        .sinks = t->sinks,
        .slopes = t->slopes,
        .kv_lens = t->kv_lens,
    };
    if (l->weights)
        tensors.weights =
            (struct attn_tensor){t->weights, ATTN_F32, {(ptrdiff_t)l->heads * rows, rows, keys, 1}};
    attn_execute(&plan->attention, &tensors);
}

void attn_self_attention_output(const struct attn_self_attention_plan *plan,
                                const struct attn_self_attention_tensors *t)
{
    const struct attn_self_attention *l = &plan->layer;
    const struct projection output = {
        plan->o, t->wo, t->bo, t->y, l->heads * l->v_dim, l->d_out, l->batch * l->len};
    if (l->d_out)
        project(&output, 1, plan->threads);
}

void attn_self_attention_execute(const struct attn_self_attention_plan *plan,
                                 const struct attn_self_attention_tensors *tensors)
{
    attn_self_attention_project(plan, tensors);
    attn_self_attention_attend(plan, tensors);
    attn_self_attention_output(plan, tensors);
}
