/*
 * int8_kv: K and V as 8-bit integers with a scale each, per key or shared by strides of 0.
 *
 * The row that is being looked at is widened into the plan's workspace.
 */
#include "sketches.h"

static size_t workspace_size(const struct attn_problem *problem, int threads)
{
    (void)threads;
    return (problem->qk_dim + problem->v_dim) * sizeof(float);
}

static void widen(const struct attn_tensor *t, const struct attn_tensor *scale, size_t b, size_t g,
                  size_t j, size_t n, float *to)
{
    const int8_t *from = attn_row(t, b, g, j);
    const float factor = *(const float *)attn_row(scale, b, g, j);
    for (size_t d = 0; d < n; d++)
        to[d] = factor * (float)from[d];
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *t)
{
    const struct attn_problem *p = &plan->problem;
    float *k = plan->workspace, *v = k + p->qk_dim;
    for (size_t b = 0; b < p->batch; b++)
        for (size_t h = 0; h < p->q_heads; h++)
            for (size_t i = 0; i < p->q_len; i++) {
                const size_t g = attn_kv_head(p, h);
                const struct attn_range seen = attn_visible(p, (ptrdiff_t)i);
                struct sketch_row row;
                sketch_start(&row, attn_row(&t->q, b, h, i), attn_row(&t->o, b, h, i), p->v_dim);
                for (ptrdiff_t j = seen.lo; j < seen.hi; j++) {
                    widen(&t->k, &t->k_scale, b, g, (size_t)j, p->qk_dim, k);
                    widen(&t->v, &t->v_scale, b, g, (size_t)j, p->v_dim, v);
                    sketch_see(&row, p, k, v);
                }
                sketch_finish(&row, p->v_dim);
            }
}

const struct attn_kernel sketch_int8_kv = {
    .size = sizeof(struct attn_kernel),
    .name = "int8_kv",
    .summary = "K and V in 8 bits with scales",
    .source = "KVQuant and its kind",
    .isa = ATTN_ISA_BASELINE,
    .workspace_size = workspace_size,
    .execute = execute,
    .caps.size = sizeof(struct attn_caps),
    .caps.dtypes = 1u << ATTN_F32,
    .caps.kv_dtypes = 1u << ATTN_I8,
    .caps.masks = ATTN_MASK_CAUSAL,
    .caps.outputs = ATTN_OUTPUT_O,
    .caps.forward = true,
    .caps.compute = ATTN_F32,
};
