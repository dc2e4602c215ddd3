/*
 * simd.h: operations on the variant's vectors of `real` that C's operators lack, for kernel files only.
 *
 * Sums, products, comparisons and shifts of `vf` and `vi` are ordinary operators (a * b + c contracts to an
 * FMA if the ISA has one).  Loops over lanes become single instructions with GCC >= 12 and Clang >= 14 at
 * every width; exceptions are noted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "simd_types.h"

static inline vf vf_set1(real x)
{
    return x - (vf){0};
}

/* 0, 1, 2, ... */
static inline vi vi_lanes(void)
{
    vi v;
    for (int i = 0; i < VF_LANES; i++)
        v[i] = i;
    return v;
}

/* All ones in the first n lanes, zero in the others, for any n. */
static inline vi vi_first(ptrdiff_t n)
{
    const real_int count = n < 0 ? 0 : n < VF_LANES ? (real_int)n : VF_LANES;
    return (vi)(vi_lanes() < (count - (vi){0}));
}

static inline vf vf_load(const real *p)
{
    vf v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void vf_store(real *p, vf v)
{
    memcpy(p, &v, sizeof v);
}

#if VF_SVE
/* The predicate of the first n lanes. */
static inline svbool_t vf_lanes_to(size_t n)
{
#if REAL_BYTES == 8
    return svwhilelt_b64((uint64_t)0, (uint64_t)n);
#else
    return svwhilelt_b32((uint64_t)0, (uint64_t)n);
#endif
}
#endif

/* The first n <= VF_LANES lanes from p, zero in the others; reads nothing past p + n. */
static inline vf vf_load_partial(const real *p, size_t n)
{
#if defined __AVX512F__
    return VF_OF_TYPE(_mm512_maskz_loadu_)((VF_MASK)((1u << n) - 1), p);
#elif defined __AVX__
    return VF_OF_TYPE(_mm256_maskload_)(p, (__m256i)vi_first((ptrdiff_t)n));
#elif VF_SVE
    return (vf)svld1(vf_lanes_to(n), p);
#else
    vf v = {0};
    for (size_t i = 0; i < n; i++)
        v[i] = p[i];
    return v;
#endif
}

static inline void vf_store_partial(real *p, vf v, size_t n)
{
#if defined __AVX512F__
    VF_OF_TYPE(_mm512_mask_storeu_)(p, (VF_MASK)((1u << n) - 1), v);
#elif defined __AVX__
    VF_OF_TYPE(_mm256_maskstore_)(p, (__m256i)vi_first((ptrdiff_t)n), v);
#elif VF_SVE
    svst1(vf_lanes_to(n), p, (VF_SVE_REAL)v);
#else
    for (size_t i = 0; i < n; i++)
        p[i] = v[i];
#endif
}

/* Lanes of a for mask lanes of all ones, of b for zeros. */
static inline vf vf_select(vi mask, vf a, vf b)
{
    return (vf)(((vi)a & mask) | ((vi)b & ~mask));
}

/* Whether any lane of a mask (all ones or zero) is set. */
static inline bool vi_any(vi mask)
{
#if defined __AVX512F__
    return _mm512_test_epi32_mask((__m512i)mask, (__m512i)mask) != 0;
#elif defined __AVX__
    return VF_OF_TYPE(_mm256_movemask_)((vf)mask) != 0;
#elif defined __SSE__
    return VF_OF_TYPE(_mm_movemask_)((vf)mask) != 0;
#elif VF_SVE
    return svptest_any(svptrue_b32(), svcmpne_n_u32(svptrue_b32(), (svuint32_t)mask, 0));
#elif defined __aarch64__
    return vmaxvq_u32((uint32x4_t)mask) != 0;
#else
    real_int any = 0;
    for (int i = 0; i < VF_LANES; i++)
        any |= mask[i];
    return any != 0;
#endif
}

/* Whether any lane is above a limit; NaN is not. */
static inline bool vf_any_above(vf x, real limit)
{
#if VF_SVE && REAL_BYTES == 4
    return svptest_any(svptrue_b32(), svcmpgt(svptrue_b32(), (svfloat32_t)x, limit));
#elif defined __aarch64__ && REAL_BYTES == 4
    return vmaxnmvq_f32((float32x4_t)x) > limit;
#else
    return vi_any((vi)(x > vf_set1(limit)));
#endif
}

/* A constant addend of a multiply-add, which overwrites it on AArch64: loading it again takes no multiplier
 * slot, which copying a register does. */
static inline vf vf_addend(const vf *constant)
{
#if VF_SVE && VF_BYTES > 16
    vf v;
    __asm__ volatile("ldr %0, %1" : "=w"(v) : "Q"(*constant));
    return v;
#elif defined __aarch64__
    vf v;
    __asm__ volatile("ldr %q0, %1" : "=w"(v) : "m"(*constant));
    return v;
#else
    return *constant;
#endif
}

/* The larger; b, which is a number, if a is NaN.  From C GCC 12 makes a compare and a blend, in places scalar
 * code. */
static inline vf vf_max(vf a, vf b)
{
#if defined __AVX512F__
    return VF_OF_TYPE(_mm512_max_)(a, b);
#elif defined __AVX__
    return VF_OF_TYPE(_mm256_max_)(a, b);
#elif defined __SSE__
    return VF_OF_TYPE(_mm_max_)(a, b);
#elif VF_SVE && VF_BYTES > 16 /* for 16 bytes Advanced SIMD's does not overwrite an operand */
    return (vf)svmaxnm_x(svptrue_b8(), (VF_SVE_REAL)a, (VF_SVE_REAL)b);
#elif defined __aarch64__ && REAL_BYTES == 8
    return (vf)vmaxnmq_f64((float64x2_t)a, (float64x2_t)b);
#elif defined __aarch64__
    return (vf)vmaxnmq_f32((float32x4_t)a, (float32x4_t)b);
#else
    return vf_select((vi)(a > b), a, b);
#endif
}

/* The larger of x and `least`, which is a number; NaN if x is NaN. */
static inline vf vf_at_least(vf least, vf x)
{
#if VF_SVE && VF_BYTES > 16
    return (vf)svmax_x(svptrue_b8(), (VF_SVE_REAL)least, (VF_SVE_REAL)x);
#elif defined __aarch64__ && REAL_BYTES == 8
    return (vf)vmaxq_f64((float64x2_t)least, (float64x2_t)x);
#elif defined __aarch64__
    return (vf)vmaxq_f32((float32x4_t)least, (float32x4_t)x);
#else
    return vf_max(least, x); /* x86 gives the second operand if either is NaN */
#endif
}

/* The first n < VF_BYTES bytes, n even but for AVX-512, from p, then zeros; reads nothing past p + n and calls
 * no function, so that a loop around it keeps its vectors in registers. */
static inline vi vi_load_bytes(const char *p, size_t n)
{
#if defined __AVX512BW__
    return (vi)_mm512_maskz_loadu_epi8(((__mmask64)1 << n) - 1, p);
#elif VF_SVE
    return (vi)svld1_u8(svwhilelt_b8((uint64_t)0, (uint64_t)n), (const uint8_t *)p);
#else
    char bytes[VF_BYTES] = {0};
    vi v;
    for (size_t i = 0; i < n; i += 2) {
        memcpy(bytes + i, p + i, 2);
        __asm__("" ::: "memory"); /* or it becomes a call to memcpy */
    }
    memcpy(&v, bytes, sizeof v);
    return v;
#endif
}

/*
 * *p in every lane, as an integer broadcast.  On Zen 4 vbroadcastss of 512 bits occupies a floating-point
 * pipe, vpbroadcastd does not: only with the latter can an exponential overlap with 16 multiply-adds and 8
 * broadcasts per step (3.0 instead of 5.3 cycles per vector).
 */
static inline vf vf_broadcast(const real *p)
{
#if defined __AVX512F__
    real_int bits;
    memcpy(&bits, p, sizeof bits);
    return (vf)(bits - (vi){0});
#else
    return vf_set1(*p);
#endif
}

/*
 * a * b + c with its operands in registers.  GCC 12 otherwise folds a load that several products share into
 * each of them, so that loads bound the loop; for SVE it uses products that overwrite a factor, with copies
 * around them.
 */
static inline vf vf_fma(vf a, vf b, vf c)
{
#if defined __AVX512F__
    __asm__(VF_FMA " %2, %1, %0" : "+v"(c) : "v"(a), "v"(b));
    return c;
#elif defined __FMA__
    __asm__(VF_FMA " %2, %1, %0" : "+x"(c) : "x"(a), "x"(b));
    return c;
#elif VF_SVE && VF_BYTES > 16 /* for 16 bytes Advanced SIMD's */
    __asm__(VF_SVE_FMA : "+w"(c) : "w"(a), "w"(b), "Upl"(svptrue_b8()));
    return c;
#elif defined __aarch64__ && REAL_BYTES == 8
    return (vf)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
#elif defined __aarch64__
    return (vf)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
    return a * b + c;
#endif
}

/* x unchanged; keeps the compiler from fusing this product with a sum. */
static inline vf vf_product(vf x)
{
#if defined __x86_64__
    __asm__("" : "+v"(x));
#elif defined __aarch64__
    __asm__("" : "+w"(x));
#else
    __asm__("" : "+m"(x));
#endif
    return x;
}
