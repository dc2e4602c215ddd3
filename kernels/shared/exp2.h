/*
 * exp2.h: 2^x and e^x in float32.
 *
 *   exp2_any, exp2_above_floor  by a small table: fastest, for flash, where exponentials compete
 *                               with multiply-adds
 *   exp2_precise, exp_precise   by a polynomial alone: two to three times as precise, for other kernels
 *
 * The table.  Adding 1.5 * 2^(23 - B) rounds x to the nearest k / 2^B and leaves k in the low bits.  The
 * table has 2^(k mod 2^B / 2^B), an integer addition puts k / 2^B, rounded down, into the exponent, and a
 * polynomial multiplies by 2^r, |r| <= 2^-(B+1).  A larger table saves multiplications; this one is the
 * largest that an instruction can read.
 *
 *     ISA        B   degree   operations on the multiplier   largest error
 *     avx512     5   2        3                              2.66 ulp
 *     avx2       3   3        4                              1.96 ulp
 *     baseline   0   5        6                              2.30 ulp
 *     neon       0   5        6                              2.30 ulp
 *     sve        6   2        3                              2.02 ulp
 *
 * AArch64's table instruction looks up bytes; computing their indices costs what it saves.  SVE has an
 * instruction with the table, FEXPA, which also sets the exponent.
 *
 * Errors are the largest over all float32 in [-126, 0], rounded up, against double precision, whether or not
 * the compiler contracts a * b + c: `test_exp2 1` tests each float32 in [-150, 0] (GCC 12.2, -O3 and -O0, AMD
 * Zen 4, 2026-11-21; sve, whose products and sums are always contracted: the same arithmetic with a table
 * instead of FEXPA, 2026-11-23).  Under qemu-aarch64 the largest error is 2.04 ulp on neon over all of them,
 * and 2.02 on sve256 below -2^-59, sve512 below -2^-26 and sve128 below -0.00137 (2026-11-25; nearer to 0
 * every 251st was tested).  In (-127, -126), where 2^x is subnormal, the absolute error is below 0.71 *
 * 2^-126; at -127 and below the result is 0, so that masked keys need no test of their own.  2^0 is exactly
 * 1; 2^NaN, with any payload, and 2^inf are NaN, since the last operation is a product: the usual integer
 * addition to the polynomial's bits can turn NaN into a number.
 */
#pragma once

#include "simd.h"

#if defined __AVX512F__
#define EXP2_BITS 5
#elif defined __AVX2__
#define EXP2_BITS 3
#elif VF_SVE
#define EXP2_BITS 6
#else
#define EXP2_BITS 0
#endif

/* 2^x is 0 here and below. */
#define EXP2_FLOOR (-127.0f)

/* Bits of 2^(k / 2^B), minus those that adding the shifted k contributes. */
#if EXP2_BITS == 5
#define EXP2_ENTRIES(E)                                                                           \
    E(0, 0x3f800000), E(1, 0x3f7ecd87), E(2, 0x3f7daac3), E(3, 0x3f7c980f), E(4, 0x3f7b95c2),     \
        E(5, 0x3f7aa43a), E(6, 0x3f79c3d3), E(7, 0x3f78f4f0), E(8, 0x3f7837f0), E(9, 0x3f778d3a), \
        E(10, 0x3f76f532), E(11, 0x3f767043), E(12, 0x3f75fed7), E(13, 0x3f75a15b),               \
        E(14, 0x3f75583f), E(15, 0x3f7523f6), E(16, 0x3f7504f3), E(17, 0x3f74fbaf),               \
        E(18, 0x3f7508a4), E(19, 0x3f752c4d), E(20, 0x3f75672a), E(21, 0x3f75b9be),               \
        E(22, 0x3f76248c), E(23, 0x3f76a81e), E(24, 0x3f7744fd), E(25, 0x3f77fbb8),               \
        E(26, 0x3f78ccdf), E(27, 0x3f79b907), E(28, 0x3f7ac0c7), E(29, 0x3f7be4ba),               \
        E(30, 0x3f7d257d), E(31, 0x3f7e83b3)
#define EXP2_LESS(k, bits) bits
static const int32_t exp2_table[32] __attribute__((aligned(VF_BYTES))) = {EXP2_ENTRIES(EXP2_LESS)};
#elif EXP2_BITS == 3
static const int32_t exp2_table[8] __attribute__((aligned(VF_BYTES))) = {
    0x3f800000, 0x3f7b95c2, 0x3f7837f0, 0x3f75fed7, 0x3f7504f3, 0x3f75672a, 0x3f7744fd, 0x3f7ac0c7};
#endif

#if EXP2_BITS == 6
/* 2^(k / 2^B), whose bits are the low ones of `shifted`: k mod 2^B and, above, the exponent with its bias. */
static inline vf exp2_step(vf shifted)
{
    return (vf)svexpa_f32((svuint32_t)shifted);
}
#define EXP2_BIAS 127.0f
#else
/* Entry k mod 2^B of the table for each lane: the permutes use the low bits only. */
static inline vi exp2_entry(vi k)
{
#if EXP2_BITS == 5
    return (vi)_mm512_permutex2var_epi32(_mm512_load_si512(exp2_table), (__m512i)k,
                                         _mm512_load_si512(exp2_table + 16));
#elif EXP2_BITS == 3
    return (vi)_mm256_permutevar8x32_epi32(_mm256_load_si256((const __m256i *)exp2_table),
                                           (__m256i)k);
#else
    (void)k;
    return 0x3f800000 - (vi){0};
#endif
}

/* 2^(k / 2^B); k is in the low bits of `shifted`. */
static inline vf exp2_step(vf shifted)
{
    return (vf)((vu)exp2_entry((vi)shifted) + ((vu)shifted << (23 - EXP2_BITS)));
}
#define EXP2_BIAS 0.0f
#endif

#define EXP2_EACH(t, x) x
#define EXP2_CONSTANT(x)      \
    {                         \
        VF_EACH(EXP2_EACH, x) \
    }

/* (2^r - 1) / r, precise enough for the errors above. */
static inline vf exp2_polynomial(vf r)
{
#if EXP2_BITS == 6
    static const vf c = EXP2_CONSTANT(6.93149745464e-1f);
    return vf_fma(vf_set1(2.40227043629e-1f), r, vf_addend(&c));
#elif defined __aarch64__
    static const vf c[] = {EXP2_CONSTANT(6.93146977766e-1f), EXP2_CONSTANT(2.40222420855e-1f),
                           EXP2_CONSTANT(5.55073336995e-2f), EXP2_CONSTANT(9.67151479701e-3f)};
    const vf a = vf_fma(vf_set1(1.32648645391e-3f), r, vf_addend(&c[3]));
    const vf b = vf_fma(vf_fma(a, r, vf_addend(&c[2])), r, vf_addend(&c[1]));
    return vf_fma(b, r, vf_addend(&c[0]));
#elif EXP2_BITS == 5
    return vf_set1(2.40226533117e-1f) * r + 6.93157333128e-1f;
#elif EXP2_BITS == 3
    return (vf_set1(5.54962241485e-2f) * r + 2.40257635472e-1f) * r + 6.93147214266e-1f;
#else
    const vf upper = (vf_set1(1.32648645391e-3f) * r + 9.67151479701e-3f) * r + 5.55073336995e-2f;
    return (upper * r + 2.40222420855e-1f) * r + 6.93146977766e-1f;
#endif
}

/* 2^x for EXP2_FLOOR <= x < 128 or NaN; any number for others. */
static inline vf exp2_above_floor(vf x)
{
    const vf magic = vf_set1(1.5f * (float)(1 << (23 - EXP2_BITS)) + EXP2_BIAS);
    const vf shifted = x + magic;
    const vf r = x - (shifted - magic);
#if EXP2_BITS == 6
    /* FMAD needs no copy of the 1; for vectors of 128 bits GCC uses FMLA. */
    const vf p = (vf)svmad_x(svptrue_b32(), (svfloat32_t)exp2_polynomial(r), (svfloat32_t)r,
                             (svfloat32_t)vf_set1(1));
#elif defined __aarch64__
    static const vf one = EXP2_CONSTANT(1.0f);
    const vf p = vf_fma(exp2_polynomial(r), r, vf_addend(&one));
#else
    const vf p = exp2_polynomial(r) * r + 1.0f;
#endif
    return p * exp2_step(shifted);
}

/* 2^x for x < 128 or NaN. */
static inline vf exp2_any(vf x)
{
    return exp2_above_floor(vf_at_least(vf_set1(EXP2_FLOOR), x));
}

#if EXP2_BITS == 5
/*
 * 2^x for x < 128, infinity or NaN, in 8 instructions instead of 12: one subtracts the next lower multiple of
 * 1 / 32 from x, and one multiplies by the power of the whole part, which may be any.  On Intel's processors
 * these two use the units of the multiply-adds; on Zen 4 exp2_above_floor() uses other units more.  Largest
 * error for normal 2^x: 2.79 ulp (test_exp2.c).  A subnormal power takes as long as 150 others, unless it is
 * flushed to 0 (MXCSR).
 */
static inline vf exp2_scaled(vf x)
{
#define EXP2_WHOLE(k, bits) (bits) + ((k) << 18)
    static const int32_t table[32]
        __attribute__((aligned(VF_BYTES))) = {EXP2_ENTRIES(EXP2_WHOLE)}; /* 2^(k / 32) */
    enum { down = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC };
    const __m512i k =
        (__m512i)_mm512_add_round_ps((__m512)x, _mm512_set1_ps(0x1.8p+18f), down); /* low bits */
    const vf r = (vf)_mm512_reduce_ps((__m512)x, EXP2_BITS << 4 | _MM_FROUND_TO_NEG_INF | 8);
    const vf step =
        (vf)_mm512_permutex2var_epi32(_mm512_load_si512(table), k, _mm512_load_si512(table + 16));
    const vf p = (vf_set1(0x1.f0f3e6p-3f) * r + 0x1.62e11ep-1f) * r + 1.0f;
    return (vf)_mm512_scalef_ps((__m512)(p * step), (__m512)x);
}
#endif

/* 2^(n + r) for |r| <= 0.5 and shifted = 1.5 * 2^23 + n: a polynomial of degree 6, with n added to its
 * exponent.  The constant term is exactly 1: with a smaller one, the exponent of 2^-126 would borrow from the
 * sign. */
static inline vf exp2_of_parts(vf shifted, vf r)
{
    vf p = vf_set1(1.535336188319500e-4f);
    p = p * r + vf_set1(1.339887440266574e-3f);
    p = p * r + vf_set1(9.618437357674640e-3f);
    p = p * r + vf_set1(5.550332471162809e-2f);
    p = p * r + vf_set1(2.402264791363012e-1f);
    p = p * r + vf_set1(6.931472028550421e-1f);
    p = p * r + vf_set1(1.0f);
    return (vf)((vu)p + ((vu)shifted << 23)); /* wraps for x > 0, in unused lanes */
}

/*
 * 2^x for x <= 0, as in a softmax after the maximum is subtracted, without a table.
 *
 * Adding 1.5 * 2^23 rounds x to the nearest integer n and leaves n in the low bits.  Inputs below -126,
 * including -inf, give 0; NaN gives NaN.  Largest error over all float32 in [-126, 0]: 0.96 ulp, 1.23 without
 * FMA (test_exp2.c).
 */
static inline vf exp2_precise(vf x)
{
    const vf magic = vf_set1(12582912.0f);
    const vf clamped = vf_at_least(vf_set1(-126.0f), x);
    const vf shifted = clamped + magic;
    const vf power = exp2_of_parts(shifted, clamped - (shifted - magic));
    const vf result = (vf)((vi)power & (vi)(x >= vf_set1(-126.0f)));
    return vf_select((vi)(x == x), result, x);
}

/* The smallest float whose e^x is at least 2^-126; below it the result is 0. */
#define EXP_LEAST (-0x1.5d589ep+6f)

/*
 * The same for e^x, x <= 0, for scores without a factor log2(e).  With FMA the extra product is free; it is
 * written as an FMA, because Clang would otherwise round the product once for both sums.  Largest error over
 * all float32 with a normal result: 1.25 ulp plus, as log2(e) is rounded, a relative 0.22 |x| 2^-24; 1.32 and
 * 1.2 without FMA; 1.53 and 0.22 with FMA if the compiler does not fuse, like GCC below -O2 (test_exp2.c).
 */
static inline vf exp_precise(vf x)
{
    const vf magic = vf_set1(12582912.0f), log2e = vf_set1(1.44269504088896341f);
    const vf clamped = vf_at_least(vf_set1(EXP_LEAST), x);
    const vf shifted = vf_fma(clamped, log2e, magic);
    const vf power = exp2_of_parts(shifted, vf_fma(clamped, log2e, magic - shifted));
    const vf result = (vf)((vi)power & (vi)(x >= vf_set1(EXP_LEAST)));
    return vf_select((vi)(x == x), result, x);
}
