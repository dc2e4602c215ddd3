/*
 * backward: from q, k, v, o, lse and dO to dQ, dK, dV (FlashAttention, algorithm 4).
 *
 *     P = exp(x - LSE)   dP = dO V^T   D = rowsum(dO O)   dS = P (dP - D) scale
 *     dV += P^T dO       dQ += dS K    dK += dS^T Q
 */
#include <math.h>

#include "sketches.h"

static float dot(const float *a, const float *b, size_t n)
{
    float sum = 0;
    for (size_t d = 0; d < n; d++)
        sum += a[d] * b[d];
    return sum;
}

static void add(float *to, float factor, const float *from, size_t n)
{
    for (size_t d = 0; d < n; d++)
        to[d] += factor * from[d];
}

static void clear(const struct attn_tensor *t, size_t b, size_t h, size_t rows, size_t n)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t d = 0; d < n; d++)
            ((float *)attn_row(t, b, h, i))[d] = 0;
}

static void row(const struct attn_problem *p, const struct attn_tensors *t, size_t b, size_t h,
                size_t i)
{
    const struct attn_range seen = attn_visible(p, (ptrdiff_t)i);
    const size_t g = attn_kv_head(p, h);
    const float scale = attn_problem_scale(p), *q = attn_row(&t->q, b, h, i);
    const float *dO = attn_row(&t->dO, b, h, i);
    const float lse = *(const float *)attn_row(&t->lse, b, h, i);
    const float base = dot(dO, attn_row(&t->o, b, h, i), p->v_dim);
    for (size_t j = (size_t)seen.lo; j < (size_t)seen.hi; j++) {
        const float *k = attn_row(&t->k, b, g, j), *v = attn_row(&t->v, b, g, j);
        const float weight = expf(scale * dot(q, k, p->qk_dim) - lse);
        const float dS = weight * (dot(dO, v, p->v_dim) - base) * scale;
        add(attn_row(&t->dV, b, g, j), weight, dO, p->v_dim);
        add(attn_row(&t->dQ, b, h, i), dS, k, p->qk_dim);
        add(attn_row(&t->dK, b, g, j), dS, q, p->qk_dim);
    }
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *t)
{
    const struct attn_problem *p = &plan->problem;
    for (size_t b = 0; b < p->batch; b++) {
        for (size_t g = 0; g < p->kv_heads; g++) {
            clear(&t->dK, b, g, p->kv_len, p->qk_dim);
            clear(&t->dV, b, g, p->kv_len, p->v_dim);
        }
        for (size_t h = 0; h < p->q_heads; h++) {
            clear(&t->dQ, b, h, p->q_len, p->qk_dim);
            for (size_t i = 0; i < p->q_len; i++)
                row(p, t, b, h, i);
        }
    }
}

const struct attn_kernel sketch_backward = {
    .size = sizeof(struct attn_kernel),
    .name = "backward",
    .summary = "gradients of Q, K and V",
    .source = "FlashAttention, Dao et al. 2022, arXiv:2205.14135",
    .isa = ATTN_ISA_BASELINE,
    .execute = execute,
    .caps.size = sizeof(struct attn_caps),
    .caps.dtypes = 1u << ATTN_F32,
    .caps.masks = ATTN_MASK_CAUSAL,
    .caps.outputs = ATTN_OUTPUT_DQ | ATTN_OUTPUT_DK | ATTN_OUTPUT_DV,
    .caps.backward = true,
    .caps.compute = ATTN_F32,
};
