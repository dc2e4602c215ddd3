/*
 * simd.h: GNU C vectors as wide as the variant's ISA, for kernel files only.
 *
 * Arithmetic on `vf` and `vi` is written with the ordinary operators (a * b + c contracts to one
 * FMA where the ISA has it); here stands what the operators lack.  Loops over lanes become single
 * instructions in GCC >= 12 and Clang >= 14 at every width; where one does not, say so beside it.
 */
#ifndef ATTN_SIMD_H
#define ATTN_SIMD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined __AVX512F__
#define VF_BYTES 64
#elif defined __AVX__
#define VF_BYTES 32
#else
#define VF_BYTES 16
#endif

#define VF_LANES (VF_BYTES / 4)

typedef float vf __attribute__((vector_size(VF_BYTES)));
typedef int32_t vi __attribute__((vector_size(VF_BYTES)));

static inline vf vf_set1(float x)
{
    return x - (vf){0};
}

static inline vf vf_load(const float *p)
{
    vf v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void vf_store(float *p, vf v)
{
    memcpy(p, &v, sizeof v);
}

/* The first n < VF_LANES lanes from p, zero in the others; reads nothing past p + n. */
static inline vf vf_load_partial(const float *p, size_t n)
{
    vf v = {0};
    memcpy(&v, p, n * sizeof *p);
    return v;
}

static inline void vf_store_partial(float *p, vf v, size_t n)
{
    memcpy(p, &v, n * sizeof *p);
}

/* Lanes of a where mask is all ones, of b where it is zero. */
static inline vf vf_select(vi mask, vf a, vf b)
{
    return (vf)(((vi)a & mask) | ((vi)b & ~mask));
}

/* The larger; b where either is NaN (as x86 vmaxps a, b). */
static inline vf vf_max(vf a, vf b)
{
    vf r;
    for (int i = 0; i < VF_LANES; i++)
        r[i] = a[i] > b[i] ? a[i] : b[i];
    return r;
}

static inline float vf_hmax(vf v)
{
    float m = v[0];
    for (int i = 1; i < VF_LANES; i++)
        m = v[i] > m ? v[i] : m;
    return m;
}

/* Pairwise, so that the rounding error grows with the logarithm of the lanes. */
static inline float vf_hsum(vf v)
{
    float lane[VF_LANES];
    memcpy(lane, &v, sizeof v);
    for (int n = VF_LANES / 2; n > 0; n /= 2)
        for (int i = 0; i < n; i++)
            lane[i] += lane[i + n];
    return lane[0];
}

/*
 * 2^x for x <= 0, as softmax needs it after its maximum is subtracted.
 *
 * Rounds x to the nearest integer n by adding 1.5 * 2^23, evaluates a degree-6 polynomial for 2^r
 * on r in [-0.5, 0.5] and adds n to the exponent.  The constant term is exactly 1: with less, the
 * exponent of 2^-126 would borrow into the sign.  Inputs below -126, -inf included, give 0; NaN
 * gives NaN.
 */
static inline vf vf_exp2(vf x)
{
    const vf magic = vf_set1(12582912.0f);
    const vf clamped = vf_max(vf_set1(-126.0f), x); /* NaN passes: the second operand wins */
    const vf shifted = clamped + magic;
    const vf r = clamped - (shifted - magic);
    vf p = vf_set1(1.535336188319500e-4f);
    p = p * r + vf_set1(1.339887440266574e-3f);
    p = p * r + vf_set1(9.618437357674640e-3f);
    p = p * r + vf_set1(5.550332471162809e-2f);
    p = p * r + vf_set1(2.402264791363012e-1f);
    p = p * r + vf_set1(6.931472028550421e-1f);
    p = p * r + vf_set1(1.0f);
    const vi scaled = (vi)p + ((vi)shifted << 23);
    const vf result = (vf)(scaled & (vi)(x >= vf_set1(-126.0f)));
    return vf_select((vi)(x == x), result, x);
}

#endif
