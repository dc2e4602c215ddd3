/*
 * honest: an attention kernel of a plug-in, whose mask the including file may change.
 *
 * Includes HEADER, attention.h as it is or as it was; see CMakeLists.txt.
 */
#pragma once

#include <math.h>

#ifndef HEADER
#define HEADER "attention.h"
#endif
#include HEADER

/* The scale is on q: with FMA, a product with the sum would be fused with what is subtracted later. */
static inline float honest_score(const struct attn_problem *p, const float *q, const float *k)
{
    const float scale = attn_problem_scale(p);
    float x = 0;
    for (size_t d = 0; d < p->qk_dim; d++)
        x += scale * q[d] * k[d];
    return x;
}

static inline void honest_row(const struct attn_problem *p, const struct attn_tensors *t, size_t b,
                              size_t h, size_t i, struct attn_range seen)
{
    const size_t g = attn_kv_head(p, h);
    const float *q = (const float *)attn_row(&t->q, b, h, i);
    float *o = (float *)attn_row(&t->o, b, h, i), m = -INFINITY, l = 0;
    for (ptrdiff_t j = seen.lo; j < seen.hi; j++)
        m = fmaxf(m, honest_score(p, q, (const float *)attn_row(&t->k, b, g, (size_t)j)));
    if (m == -INFINITY)
        m = 0;
    for (size_t d = 0; d < p->v_dim; d++)
        o[d] = 0;
    for (ptrdiff_t j = seen.lo; j < seen.hi; j++) {
        const float *v = (const float *)attn_row(&t->v, b, g, (size_t)j);
        const float w =
            expf(honest_score(p, q, (const float *)attn_row(&t->k, b, g, (size_t)j)) - m);
        l += w;
        for (size_t d = 0; d < p->v_dim; d++)
            o[d] += w * v[d];
    }
    for (size_t d = 0; d < p->v_dim; d++)
        o[d] = l == 0 ? 0 : o[d] / l;
}

static inline void honest_execute(const struct attn_plan *plan, const struct attn_tensors *t)
{
    const struct attn_problem *p = &plan->problem;
    for (size_t b = 0; b < p->batch; b++)
        for (size_t h = 0; h < p->q_heads; h++)
            for (size_t i = 0; i < p->q_len; i++)
                honest_row(p, t, b, h, i, attn_visible(p, (ptrdiff_t)i));
}

/* The fields of a kernel that every one of these has. */
#define HONEST                                                                             \
    .size = sizeof(struct attn_kernel), .summary = "of a test", .source = "tests/plugins", \
    .caps.size = sizeof(struct attn_caps), .caps.dtypes = 1u << ATTN_F32,                  \
    .caps.masks = ATTN_MASK_CAUSAL, .caps.outputs = ATTN_OUTPUT_O, .caps.forward = true,   \
    .caps.compute = ATTN_F32

/* The entry of a plug-in with one kernel. */
#define HONEST_ENTRY(kernel)                                            \
    attn_plugin_entry attn_plugin;                                      \
    const struct attn_kernel *const *attn_plugin(size_t *count)         \
    {                                                                   \
        static const struct attn_kernel *const kernels[] = {&(kernel)}; \
        *count = 1;                                                     \
        return kernels;                                                 \
    }
