/*
 * simd_reduce.h: sums and maxima over the lanes of vectors, for kernel files only.
 */
#pragma once

#include "simd.h"

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
