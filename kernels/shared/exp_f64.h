/*
 * exp_f64.h: e^x in vectors of double, for kernel files only.
 *
 * x = n ln 2 + r with an integer n and |r| <= ln 2 / 2: adding 1.5 * 2^52 rounds x log2(e) to n, and ln 2 is
 * split into two parts, the first of 33 bits, so that its product with n is exact (Cody and Waite 1980).  e^r
 * - 1 is its Taylor series up to r^13 / 13!, with a relative error below 2^-57.  The result is multiplied by
 * 2^n.
 */
#pragma once

#include "simd.h"

#define EXP_F64_LEAST (-708.3964185322641) /* e^x is 2^-1022 or more from here on */

/* e^r - 1 and *power = 2^n for x = n ln 2 + r, EXP_F64_LEAST <= x <= 0 or NaN.  Near 0, where n is 0, its
 * relative error is as small as that of e^r elsewhere. */
static inline vf exp_parts(vf x, vf *power)
{
    const vf magic = vf_set1(0x1.8p52);
    const vf shifted = x * 0x1.71547652b82fep+0 + magic;
    const vf n = shifted - magic;
    const vf r = (x - n * 0x1.62e42fefp-1) - n * 0x1.473de6af278edp-34;
    vf p = vf_set1(1.0 / 6227020800);
    p = p * r + 1.0 / 479001600;
    p = p * r + 1.0 / 39916800;
    p = p * r + 1.0 / 3628800;
    p = p * r + 1.0 / 362880;
    p = p * r + 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 0.5;
    *power = (vf)(((vu)shifted << 52) + ((uint64_t)1023 << 52)); /* n is in the low bits */
    return r * r * p + r;
}

/*
 * e^x, x <= 0, as in a softmax after the maximum is subtracted.  Inputs below EXP_F64_LEAST, including -inf,
 * give 0; NaN gives NaN.  Largest error found: 1.02 ulp with FMA, 0.98 without (8 million numbers,
 * test_f64.c).
 */
static inline vf exp_precise(vf x)
{
    vf power;
    const vf least = vf_set1(EXP_F64_LEAST);
    const vf q = exp_parts(vf_at_least(least, x), &power);
    const vf result = (vf)((vi)(power * q + power) & (vi)(x >= least));
    return vf_select((vi)(x == x), result, x);
}
