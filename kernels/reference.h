/*
 * reference.h: attention in float64, the judge of every kernel.
 */
#ifndef ATTN_REFERENCE_H
#define ATTN_REFERENCE_H

#include "attention.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One row of the result, and how far a correct kernel may be from it. */
struct attn_reference_row {
    size_t size;
    double *o;     /* v_dim */
    double *bound; /* v_dim: the largest error allowed, DESIGN section 6; NaN where o is NaN */
    double lse;
    double lse_bound;
    double *weights; /* kv_len; NULL where not wanted */
};

/* Scratch of attn_reference(), bytes. */
size_t attn_reference_workspace(const struct attn_problem *problem);

/*
 * Computes row (b, h, i).  `compute` and `bound_factor` are the kernel's caps: what its
 * multiply-adds take (ATTN_BF16: P is rounded to bf16) and its declared multiple of the bound.
 * Thread safe; the workspace is the caller's and per thread.
 */
void attn_reference(const struct attn_problem *problem, const struct attn_tensors *tensors,
                    size_t b, size_t h, size_t i, enum attn_dtype compute, double bound_factor,
                    void *workspace, struct attn_reference_row *row);

#ifdef __cplusplus
}
#endif

#endif
