/*
 * simd.h: GNU C vectors of `real` as wide as the variant's ISA, for kernel files only.
 *
 * Arithmetic on `vf` and `vi` uses the ordinary operators (a * b + c contracts to an FMA if the ISA has one);
 * this file has what the operators lack.  Loops over lanes become single instructions with GCC >= 12 and
 * Clang >= 14 at every width; exceptions are noted.
 */
#ifndef ATTN_SIMD_H
#define ATTN_SIMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "real.h"

/* Intrinsics, for what C cannot express or compilers miss. */
#if defined __SSE__
#include <immintrin.h>
#elif defined __aarch64__
#include <arm_neon.h>
#endif

/* SVE with a fixed vector length (kernel.cmake): GNU C vectors of this size live in its registers, and a
 * predicate for all lanes costs nothing. */
#if defined __ARM_FEATURE_SVE && __ARM_FEATURE_SVE_BITS
#include <arm_sve.h>
#define VF_SVE 1
#else
#define VF_SVE 0
#endif

#if defined __AVX512F__
#define VF_BYTES 64
#define VF_REGISTERS 32
#elif defined __AVX__
#define VF_BYTES 32
#define VF_REGISTERS 16
#elif VF_SVE
#define VF_BYTES (__ARM_FEATURE_SVE_BITS / 8)
#define VF_REGISTERS 32
#elif defined __aarch64__
#define VF_BYTES 16
#define VF_REGISTERS 32
#else
#define VF_BYTES 16
#define VF_REGISTERS 16
#endif

/* Whether a multiply-add takes a factor from a lane of a register, so that one load replaces VF_FACTORS
 * broadcasts (vf_load_factors, vf_fma_lane): 128 bits of factors, which SVE repeats along the vector. */
#if defined __aarch64__
#define VF_FACTOR_IN_LANE 1
#define VF_FACTORS (16 / REAL_BYTES)
#else
#define VF_FACTOR_IN_LANE 0
#endif

#define VF_LANES (VF_BYTES / REAL_BYTES)

/* Intrinsics and instructions of the type. */
#if REAL_BYTES == 8
typedef uint64_t vu __attribute__((vector_size(VF_BYTES))); /* wraps where vi must not */
#define VF_OF_TYPE(name) name##pd
#define VF_MASK __mmask8 /* a bit per lane */
#define VF_FMA "vfmadd231pd"
#define VF_SVE_REAL svfloat64_t
#define VF_SVE_FMA "fmla %0.d, %3/m, %1.d, %2.d"
#else
typedef uint32_t vu __attribute__((vector_size(VF_BYTES)));
#define VF_OF_TYPE(name) name##ps
#define VF_MASK __mmask16
#define VF_FMA "vfmadd231ps"
#define VF_SVE_REAL svfloat32_t
#define VF_SVE_FMA "fmla %0.s, %3/m, %1.s, %2.s"
#endif
typedef real vf __attribute__((vector_size(VF_BYTES)));
typedef real_int vi __attribute__((vector_size(VF_BYTES)));

/* Before a loop over a register tile: unrolls it completely, so that the tile stays in registers. */
#if defined __clang__
#define VF_UNROLL _Pragma("clang loop unroll(full)")
#else
#define VF_UNROLL _Pragma("GCC unroll 32")
#endif

/* A function to be specialised for constant arguments. */
#define VF_INLINE static inline __attribute__((always_inline))

/* A function whose loops need all registers: inlined, they would share them with the caller.  noclone:
 * otherwise GCC changes the arguments, and thereby the loops. */
#if defined __clang__
#define VF_NOINLINE static __attribute__((noinline))
#else
#define VF_NOINLINE static __attribute__((noinline, noclone))
#endif

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

/* F(lane, h) for each lane: an index list for __builtin_shufflevector. */
#define VF_4(F, t, h) F(t, h), F(t + 1, h), F(t + 2, h), F(t + 3, h)
#if VF_LANES == 16
#define VF_EACH(F, h) VF_4(F, 0, h), VF_4(F, 4, h), VF_4(F, 8, h), VF_4(F, 12, h)
#elif VF_LANES == 8
#define VF_EACH(F, h) VF_4(F, 0, h), VF_4(F, 4, h)
#elif VF_LANES == 4
#define VF_EACH(F, h) VF_4(F, 0, h)
#else
#define VF_EACH(F, h) F(0, h), F(1, h)
#endif

/* Lanes at distance h exchanged. */
#define VF_SWAPPED(t, h) ((t) ^ (h))
#define VF_SWAP(v, h) __builtin_shufflevector(v, v, VF_EACH(VF_SWAPPED, h))

static inline real vf_hmax(vf v)
{
#if VF_LANES >= 16
    v = vf_max(v, VF_SWAP(v, 8));
#endif
#if VF_LANES >= 8
    v = vf_max(v, VF_SWAP(v, 4));
#endif
#if VF_LANES >= 4
    v = vf_max(v, VF_SWAP(v, 2));
#endif
    return vf_max(v, VF_SWAP(v, 1))[0];
}

/* The sum of all lanes, pairwise, so that the rounding error grows with the logarithm of their number. */
static inline real vf_hsum(vf v)
{
#if VF_LANES >= 16
    v += VF_SWAP(v, 8);
#endif
#if VF_LANES >= 8
    v += VF_SWAP(v, 4);
#endif
#if VF_LANES >= 4
    v += VF_SWAP(v, 2);
#endif
    return (v + VF_SWAP(v, 1))[0];
}

/*
 * Lane i of the result combines all lanes of v[i]: VF_LANES dot products are reduced together, with about
 * three instructions each.  Merging two vectors at distance h combines, in each run of 2h lanes, the halves
 * of the first vector in the lower h lanes and those of the second in the upper h; after distances VF_LANES /
 * 2, ..., 1 every lane has a complete result.  The operand that stays in its lanes is a blend, which any port
 * executes; only the other is a shuffle.
 */
#define VF_MERGE_STAY(t, h) ((t) % (2 * (h)) < (h) ? (t) : VF_LANES + (t))
#define VF_MERGE_SWAP(t, h) ((t) % (2 * (h)) < (h) ? (t) + (h) : VF_LANES + (t) - (h))
#if defined __AVX512F__ /* GCC 12 would make a shuffle of the blend at distance 8 */
#define VF_MERGE_UPPER(h) ((h) == 8 ? 0xff00 : (h) == 4 ? 0xf0f0 : (h) == 2 ? 0xcccc : 0xaaaa)
#define VF_MERGE_BLEND(a, b, h) ((vf)VF_OF_TYPE(_mm512_mask_mov_)(a, (VF_MASK)VF_MERGE_UPPER(h), b))
#else
#define VF_MERGE_BLEND(a, b, h) __builtin_shufflevector(a, b, VF_EACH(VF_MERGE_STAY, h))
#endif
#define VF_MERGE(join, a, b, h) \
    join(VF_MERGE_BLEND(a, b, h), __builtin_shufflevector(a, b, VF_EACH(VF_MERGE_SWAP, h)))

/* Overwrites v.  Loops are unrolled, so that an array in registers stays there. */
VF_INLINE vf vf_join_each(vf v[VF_LANES], vf (*join)(vf a, vf b))
{
#if VF_LANES >= 16
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
        v[i] = VF_MERGE(join, v[i], v[i + 8], 8);
#endif
#if VF_LANES >= 8
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        v[i] = VF_MERGE(join, v[i], v[i + 4], 4);
#endif
#if VF_LANES >= 4
    v[0] = VF_MERGE(join, v[0], v[2], 2);
    v[1] = VF_MERGE(join, v[1], v[3], 2);
#endif
    return VF_MERGE(join, v[0], v[1], 1);
}

VF_INLINE vf vf_add(vf a, vf b)
{
    return a + b;
}

/* Lane i of the result: the sum, or the maximum, of v[i]'s lanes. */
static inline vf vf_hsum_each(vf v[VF_LANES])
{
    return vf_join_each(v, vf_add);
}

static inline vf vf_hmax_each(vf v[VF_LANES])
{
    return vf_join_each(v, vf_max);
}

/* The first n < VF_BYTES bytes, n even but for AVX-512, from p, then zeros; reads nothing past p + n and calls no function,
 * so that a loop around it keeps its vectors in registers. */
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

#if VF_FACTOR_IN_LANE && REAL_BYTES == 4
/* Loads VF_FACTORS factors; GCC 12 would otherwise load each lane by itself. */
VF_INLINE vf vf_load_factors(const real *p)
{
#if VF_SVE && VF_BYTES > 16
    vf v = (vf)svld1rq_f32(svptrue_b32(), p);
#else
    vf v = vf_load(p);
#endif
    __asm__("" : "+w"(v));
    return v;
}

#define VF_FMUL_LANE(lane)                                                        \
    case lane:                                                                    \
        __asm__("fmul %0.4s, %1.4s, %2.s[" #lane "]" : "=w"(c) : "w"(b), "w"(a)); \
        return c;
#define VF_FMLA_LANE(lane)                                                        \
    case lane:                                                                    \
        __asm__("fmla %0.4s, %1.4s, %2.s[" #lane "]" : "+w"(c) : "w"(b), "w"(a)); \
        return c;

/* a's factor `lane`, a constant, times b. */
VF_INLINE vf vf_multiply_lane(vf a, const int lane, vf b)
{
    vf c = b;
#if VF_SVE && VF_BYTES > 16
#define VF_SVMUL_LANE(lane) svmul_lane_f32((svfloat32_t)b, (svfloat32_t)a, lane)
    c = (vf)(lane == 0   ? VF_SVMUL_LANE(0) /* which takes nothing but literals */
             : lane == 1 ? VF_SVMUL_LANE(1)
             : lane == 2 ? VF_SVMUL_LANE(2)
                         : VF_SVMUL_LANE(3));
#else
    switch (lane) {
        VF_FMUL_LANE(0)
        VF_FMUL_LANE(1)
        VF_FMUL_LANE(2)
        VF_FMUL_LANE(3)
    }
#endif
    return c;
}

/* a's factor `lane`, a constant, times b, plus c. */
VF_INLINE vf vf_fma_lane(vf a, const int lane, vf b, vf c)
{
#if VF_SVE && VF_BYTES > 16
#define VF_SVMLA_LANE(lane) svmla_lane_f32((svfloat32_t)c, (svfloat32_t)b, (svfloat32_t)a, lane)
    return (vf)(lane == 0   ? VF_SVMLA_LANE(0) /* which takes nothing but literals */
                : lane == 1 ? VF_SVMLA_LANE(1)
                : lane == 2 ? VF_SVMLA_LANE(2)
                            : VF_SVMLA_LANE(3));
#else
    switch (lane) { /* with the intrinsic GCC 12 copies sums between registers */
        VF_FMLA_LANE(0)
        VF_FMLA_LANE(1)
        VF_FMLA_LANE(2)
        VF_FMLA_LANE(3)
    }
    return c;
#endif
}
#endif

#endif
