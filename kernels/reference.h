/*
 * reference.h: attention in float64, the judge of every kernel.
 */
#pragma once

#include "attention.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * One row of the result, and how far a correct kernel may be from it.  The caller lends the
 * arrays; NULL where not wanted, except o.
 *
 * A row that sees no key is 0 with a bound of 0 and lse = -inf.  Where a NaN is visible, o (the
 * whole row for Q and K, the element for V) and its bound are NaN: a kernel must give NaN there
 * and nowhere else.
 */
struct attn_reference_row {
    size_t size;
    double *o;             /* v_dim */
    double *bound;         /* v_dim: the largest error allowed, see reference.c */
    double *magnitude;     /* v_dim: sum_j p_j |v_j| */
    double *weights;       /* kv_len; 0 where masked */
    double *weights_bound; /* kv_len */
    double lse;
    double lse_bound;
    double *scores;       /* kv_len; -inf where masked */
    double *scores_bound; /* kv_len; wanted where scores is */
};

/* Scratch of attn_reference(), bytes. */
size_t attn_reference_workspace(const struct attn_problem *problem);

/*
 * Computes row (b, h, i).  `compute` and `bound_factor` are the kernel's caps: what its
 * multiply-adds take (ATTN_BF16: P is rounded to bf16) and its declared multiple of the bound
 * (0 = 1).  Thread safe; the workspace is the caller's, per thread and aligned for double.
 */
void attn_reference(const struct attn_problem *problem, const struct attn_tensors *tensors,
                    size_t b, size_t h, size_t i, enum attn_dtype compute, double bound_factor,
                    void *workspace, struct attn_reference_row *row);

/* What to add to the bounds of an element and of LSE, computed with ATTN_F32, to get those for ATTN_BF16. */
static inline double attn_reference_bf16_extra(const struct attn_problem *problem, double magnitude)
{
    const double operations = 3 * (double)problem->kv_len + 1;
    return 0x1p-8 * magnitude + operations * 0x1p-126;
}

static inline double attn_reference_bf16_extra_lse(void)
{
    return 0x1p-8;
}

#ifdef __cplusplus
}
#endif
