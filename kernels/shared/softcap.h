/*
 * softcap.h: c * tanh(x / c) for vectors of scores, for kernel files only.
 *
 * With z = -2 |x / c| log2(e), rounded to the nearest integer n, and r = z - n,
 *
 *     t = 2^z - 1 = (2^n - 1) + 2^n (2^r - 1)          |tanh(x / c)| = -t / (t + 2)
 *
 * where 2^n - 1 is exact and 2^r - 1 is r times a polynomial, so that nothing cancels: the result is
 * as precise near 0 as elsewhere, which 1 - 2 / (2^-z + 1) would not be.  The polynomial has degree 5,
 * its first coefficient is ln 2, and its relative error on [-0.5, 0.5] is below 0.3 * 2^-24.
 *
 * Largest error over float32 x where x / c is not subnormal, c = 1 and 50: 4.6 ulp of the result,
 * with and without FMA (test_softcap.c).  It is odd, x = +-inf gives +-c, no |result| exceeds c but
 * by its rounding, and NaN gives NaN.
 */
#ifndef ATTN_SOFTCAP_H
#define ATTN_SOFTCAP_H

#include <float.h>

#include "kernel.h"
#include "simd.h"

struct softcap {
    float inner; /* times x it is z, but for the sign */
    float limit; /* the largest result */
};

/* The cap of scores that are as the definition says, not times log2(e).  The smallest c keeps inner
 * finite: infinity times 0 would be NaN. */
static inline struct softcap softcap_natural(const struct attn_problem *problem)
{
    const float inner = 2 * 1.44269504088896341f / problem->softcap;
    return (struct softcap){inner < FLT_MAX ? inner : FLT_MAX, problem->softcap};
}

/* The scores x, capped. */
static inline vf softcap_each(const struct softcap *cap, vf x)
{
    const vf magic = vf_set1(0x1.8p23f);
    /* 2^-26 is nothing beside 1; NaN passes: the second operand wins */
    const vf z = vf_max(vf_set1(-26), (vf)((vi)(x * cap->inner) | INT32_MIN));
    const vf shifted = z + magic;
    const vf r = z - (shifted - magic);
    vf p = vf_set1(0x1.42ed84p-13f);
    p = p * r + 0x1.5ef3c8p-10f;
    p = p * r + 0x1.3b2bb6p-7f;
    p = p * r + 0x1.c6afap-5f;
    p = p * r + 0x1.ebfbdep-3f;
    p = p * r + 0x1.62e43p-1f;
    const vf power =
        (vf)(((vu)shifted << 23) + 0x3f800000u); /* 2^n: the lower bits of shifted are n */
    const vf t = power * (p * r) + (power - 1.0f);
    return vf_select(INT32_MIN - (vi){0}, x, t / (t + 2.0f) * cap->limit);
}

#endif
