/*
 * exact.h: part of the kernels on oneDNN: rows that the library cannot compute.
 *
 * A mask that is added to the scores does not hide NaN (NaN - inf is NaN), nor does a weight of 0 hide
 * NaN or infinity in V, and a row whose scores are all -inf becomes NaN.  All of it shows in the
 * row's output.  So a row that is not finite is computed again, from the keys that it sees alone,
 * and a row that sees none is 0.  On ordinary data this costs a look at O.
 */
#pragma once

#include <limits.h>

#include "kernel.h"
#include "shared/rows.h"
#include "shared/simd16.h"
#include "shared/softmax.h"

/* Whether the lengths are supported: their products fit the library's integers. */
static bool exact_supports(const struct attn_problem *p, const char **why)
{
    const size_t rows = p->q_heads / p->kv_heads * p->q_len;
    *why = "a length of 2^31 or more";
    return rows <= INT_MAX && p->kv_len <= INT_MAX && p->qk_dim <= INT_MAX && p->v_dim <= INT_MAX;
}

/* Floats of scratch. */
static size_t exact_floats(const struct attn_problem *p)
{
    return p->kv_len + 2 * (p->qk_dim + p->v_dim);
}

static void exact_row(const struct attn_problem *p, const struct attn_tensors *t, size_t b,
                      size_t h, size_t i, float *scratch)
{
    const struct attn_range seen = attn_visible(p, (ptrdiff_t)i);
    const size_t g = attn_kv_head(p, h);
    const ptrdiff_t n = seen.hi - seen.lo;
    float *s = scratch, *q = s + p->kv_len, *k = q + p->qk_dim;
    float *o = k + p->qk_dim, *v = o + p->v_dim;
    row_widen(q, t->q.dtype, attn_row(&t->q, b, h, i), p->qk_dim);
    memset(o, 0, p->v_dim * sizeof *o);
    for (ptrdiff_t j = 0; j < n; j++) {
        row_widen(k, t->k.dtype, attn_row(&t->k, b, g, (size_t)(seen.lo + j)), p->qk_dim);
        s[j] = softmax_scale(p) * vf_hsum(row_dot(q, k, p->qk_dim));
    }
    const float m = softmax_max(s, n, -INFINITY);
    const float l = softmax_exp2(s, n, softmax_shift(m));
    for (ptrdiff_t j = 0; j < n; j++) {
        row_widen(v, t->v.dtype, attn_row(&t->v, b, g, (size_t)(seen.lo + j)), p->v_dim);
        row_weigh(o, s + j, v, 0, 1, p->v_dim);
    }
    row_narrow(attn_row(&t->o, b, h, i), t->o.dtype, o, softmax_inverse(l), p->v_dim);
}

/* Mends row (b, h, i) of O where the library could not compute it. */
static void exact_mend(const struct attn_problem *p, const struct attn_tensors *t, size_t b,
                       size_t h, size_t i, float *scratch)
{
    const struct attn_range seen = attn_visible(p, (ptrdiff_t)i);
    const size_t bytes = attn_dtype_size(t->o.dtype);
    char *row = attn_row(&t->o, b, h, i);
    vf zeros = {0};
    if (seen.lo == seen.hi) {
        memset(row, 0, p->v_dim * bytes);
        return;
    }
    for (size_t d = 0; d < p->v_dim; d += VF_LANES) {
        const size_t some = p->v_dim - d < VF_LANES ? p->v_dim - d : VF_LANES;
        zeros += vf_load_elements(t->o.dtype, row + d * bytes, some) * vf_set1(0);
    }
    if (vf_hsum(zeros) != 0)
        exact_row(p, t, b, h, i, scratch);
}
