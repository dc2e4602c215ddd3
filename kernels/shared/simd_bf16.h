/*
 * simd_bf16.h: vectors of bf16 and dot products of their pairs, for kernel files of ISAs that have them.
 *
 * A lane of 32 bits holds two adjacent elements.  Products are exact, sums float32; subnormal operands and
 * results count as zero.  On AArch64 (BFDOT, BFMMLA) sums are rounded to odd, with an error of up to one unit
 * in the last place instead of half of one.
 */
#pragma once

#include "simd.h"

#if defined __AVX512BF16__ || (defined __ARM_FEATURE_BF16_VECTOR_ARITHMETIC && !VF_SVE)
#define BF16_PAIRS 1

typedef uint16_t bf16_vector __attribute__((vector_size(VF_BYTES)));

/* acc + a . b, pair by pair; on x86 with operands in registers, as for vf_fma(). */
VF_INLINE vf bf16_dot(vi a, vi b, vf acc)
{
#if defined __AVX512BF16__
    __asm__("vdpbf16ps %2, %1, %0" : "+v"(acc) : "v"(a), "v"(b));
    return acc;
#else
    return (vf)vbfdotq_f32((float32x4_t)acc, (bfloat16x8_t)a, (bfloat16x8_t)b);
#endif
}

#if defined __aarch64__
#define BF16_MATRICES 1

/* acc + a b^T for matrices of 2 rows by 4 elements, row-major; the 2 x 2 sums are row-major, too. */
VF_INLINE vf bf16_matrix(vf a, vf b, vf acc)
{
    return (vf)vbfmmlaq_f32((float32x4_t)acc, (bfloat16x8_t)a, (bfloat16x8_t)b);
}

/* The lower, or upper, 64 bits of a and b. */
VF_INLINE vf bf16_halves(const bool upper, vf a, vf b)
{
    const uint64x2_t x = (uint64x2_t)a, y = (uint64x2_t)b;
    return upper ? (vf)vzip2q_u64(x, y) : (vf)vzip1q_u64(x, y);
}
#else
#define BF16_MATRICES 0
#endif

/* a's lanes, then b's, rounded to nearest even. */
VF_INLINE bf16_vector bf16_narrow(vf a, vf b)
{
#if defined __AVX512BF16__
    return (bf16_vector)_mm512_cvtne2ps_pbh((__m512)b, (__m512)a);
#else
    const bfloat16x8_t lower = vcvtq_low_bf16_f32((float32x4_t)a);
    return (bf16_vector)vcvtq_high_bf16_f32(lower, (float32x4_t)b);
#endif
}

/* Element i of the result is element from[i] of x. */
VF_INLINE bf16_vector bf16_permute(bf16_vector x, bf16_vector from)
{
#if defined __AVX512BF16__
    return (bf16_vector)_mm512_permutexvar_epi16((__m512i)from, (__m512i)x);
#else
    const bf16_vector bytes = from * 0x0202 + 0x0100;
    return (bf16_vector)vqtbl1q_u8((uint8x16_t)x, (uint8x16_t)bytes);
#endif
}

/* Pairs of a's and b's elements, from the lower halves of both and from the upper ones. */
#define BF16_LOWER(t, b) (t), (b) + (t)
#define BF16_UPPER(t, b) VF_LANES + (t), (b) + VF_LANES + (t)
#define BF16_ZIP(half, a, b) __builtin_shufflevector(a, b, VF_EACH(half, 2 * VF_LANES))

/* Lane i of the result: a's lane i, rounded, in the lower half and b's in the upper. */
VF_INLINE vi bf16_join(vf a, vf b)
{
    const bf16_vector apart = bf16_narrow(a, b);
    return (vi)__builtin_shufflevector(apart, apart, VF_EACH(BF16_LOWER, VF_LANES));
}

#else
#define BF16_PAIRS 0
#define BF16_MATRICES 0
#endif
