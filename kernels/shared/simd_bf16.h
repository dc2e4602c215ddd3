/*
 * simd_bf16.h: dot products of pairs of bf16, vdpbf16ps, for kernel files of avx512_bf16 only.
 *
 * A lane of 32 bits holds two neighbouring elements.  Products are exact and sums float32;
 * subnormal operands and results count as zero.
 */
#ifndef ATTN_SIMD_BF16_H
#define ATTN_SIMD_BF16_H

#include "simd.h"

/* acc + a . b, pair by pair, the operands in registers as for vf_fma(). */
VF_INLINE vf bf16_dot(vi a, vi b, vf acc)
{
    __asm__("vdpbf16ps %2, %1, %0" : "+v"(acc) : "v"(a), "v"(b));
    return acc;
}

#endif
