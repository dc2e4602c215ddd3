/*
 * softcap.h: c * tanh(x / c) for vectors of scores, for kernel files only.
 *
 * With z = -2 |x / c| log2(e), rounded to the nearest integer n, and r = z - n,
 *
 *     t = 2^z - 1 = (2^n - 1) + 2^n (2^r - 1)          |tanh(x / c)| = -t / (t + 2)
 *
 * where 2^n - 1 is exact and 2^r - 1 is r times a polynomial, so that nothing cancels: unlike 1 - 2 / (2^-z +
 * 1) the result is as precise near 0 as elsewhere.  The polynomial has degree 5, its first coefficient is ln
 * 2, and its relative error on [-0.5, 0.5] is below 0.3 * 2^-24.
 *
 * Largest error over float32 x with x / c not subnormal, c = 1 and 50: 4.6 ulp of the result, with and
 * without FMA (test_softcap.c).  In double z is -2 |x / c|, to base e (exp_f64.h), and the largest error
 * found is 3.5 ulp (test_f64.c).  The function is odd, x = +-inf gives +-c, |result| exceeds c only by its
 * rounding, NaN gives NaN.
 */
#pragma once

#include "kernel.h"
#include "simd.h"
#if REAL_BYTES == 8
#include "exp_f64.h"
#endif

struct softcap {
    real inner; /* |z| = inner * |x| */
    real limit; /* the largest result */
};

#if REAL_BYTES == 8
#define SOFTCAP_Z 2.0
#define SOFTCAP_LEAST (-38.0) /* e^-38 is negligible beside 1 */

/* t = e^z - 1, z <= 0. */
VF_INLINE vf softcap_power_less_1(vf z)
{
    vf power;
    const vf q = exp_parts(z, &power);
    return power * q + (power - 1.0);
}
#else
#define SOFTCAP_Z (2 * 1.44269504088896341f)
#define SOFTCAP_LEAST (-26) /* 2^-26 is negligible beside 1 */

/* t = 2^z - 1, z <= 0. */
VF_INLINE vf softcap_power_less_1(vf z)
{
    const vf magic = vf_set1(0x1.8p23f);
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
    return power * (p * r) + (power - 1.0f);
}
#endif

/* The cap for natural scores, without a factor log2(e).  inner stays finite for the smallest c, as infinity
 * times 0 would be NaN. */
static inline struct softcap softcap_natural(const struct attn_problem *problem)
{
    const real inner = SOFTCAP_Z / (real)problem->softcap;
    return (struct softcap){inner < REAL_MAX ? inner : REAL_MAX, (real)problem->softcap};
}

/* The scores x, capped. */
static inline vf softcap_each(const struct softcap *cap, vf x)
{

    const vf z = vf_at_least(vf_set1(SOFTCAP_LEAST), (vf)((vi)(x * cap->inner) | REAL_SIGN));
    const vf t = softcap_power_less_1(z);
    return vf_select(REAL_SIGN - (vi){0}, x, t / (t + (real)2) * cap->limit);
}
