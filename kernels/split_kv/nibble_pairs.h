/*
 * nibble_pairs.h: part of kernel split_kv: K and V of 4 bits, whose zero points are 8, as pairs of bf16, and their
 * scales.
 *
 * An element less 8 is one of 16 integers, all bfloat16.  A permutation of words looks them up by the lowest
 * bits of each word and ignores the others (vpermw), so that a shift and a permutation widen 32 elements.  With
 * four rows 32 elements take four products of pairs beside four other instructions; widened to f32 (nibbles.h),
 * eight products beside nine.
 */
#pragma once

#include "nibbles.h"

#define NIBBLE_UNIT \
    8 /* by which values are divided, and weights multiplied (bytes_as_bf16.h says why) */
#define NIBBLE_GROUPS 4  /* whose scales are loaded together: 16 bytes of a key */
#define SCALES_AHEAD 256 /* keys: how far ahead their scales are fetched */

/* ---- elements ---------------------------------------------------------------------------------- */

/* The bfloat16 of element i, of which the lowest four bits count, times 2^s. */
#define NIBBLE_SIZE(i) ((i) % 16 < 8 ? 8 - (i) % 16 : (i) % 16 - 8)
#define NIBBLE_BITS(i, s) (((i) % 16 < 8 ? 0x8000u : 0) | BYTE_BITS((unsigned)NIBBLE_SIZE(i), s))
#define NIBBLE_WORD(bits) (bits)
#define NIBBLE_TABLE(s)                                                                   \
    {                                                                                     \
        BYTE_16(NIBBLE_WORD, NIBBLE_BITS, 0, s), BYTE_16(NIBBLE_WORD, NIBBLE_BITS, 16, s) \
    }

static_assert(NIBBLE_UNIT == 1 << 3, "its logarithm is that of the second table");
static const bf16_vector nibble_tables[2] = {NIBBLE_TABLE(0), NIBBLE_TABLE(-3)}; /* of K, of V */

/* The elements in the lowest four bits of each word. */
VF_INLINE vi nibble_pairs(bf16_vector table, __m512i words)
{
    return (vi)bf16_permute(table, (bf16_vector)words);
}

/* The first bytes of a row as `bytes` says. */
VF_INLINE __m128i nibble_load(__mmask16 bytes, const char *p)
{
    return _mm_maskz_loadu_epi8(bytes, p);
}

/* 16 bytes of each of four rows, or as many as `bytes` has. */
VF_INLINE __m512i load_quarter(const char *p, ptrdiff_t stride, __mmask16 bytes)
{
    __m512i x = _mm512_castsi128_si512(nibble_load(bytes, p));
    x = _mm512_inserti32x4(x, nibble_load(bytes, p + stride), 1);
    x = _mm512_inserti32x4(x, nibble_load(bytes, p + 2 * stride), 2);
    return _mm512_inserti32x4(x, nibble_load(bytes, p + 3 * stride), 3);
}

/* Transposes 4 x 4 lanes in each quarter: lane 4 i + j of x[n] moves to lane 4 i + n of x[j]. */
VF_INLINE void transpose_quarters(__m512i x[4])
{
    const __m512i lower[2] = {_mm512_unpacklo_epi32(x[0], x[1]), _mm512_unpacklo_epi32(x[2], x[3])};
    const __m512i upper[2] = {_mm512_unpackhi_epi32(x[0], x[1]), _mm512_unpackhi_epi32(x[2], x[3])};
    x[0] = _mm512_unpacklo_epi64(lower[0], lower[1]);
    x[1] = _mm512_unpackhi_epi64(lower[0], lower[1]);
    x[2] = _mm512_unpacklo_epi64(upper[0], upper[1]);
    x[3] = _mm512_unpackhi_epi64(upper[0], upper[1]);
}

/* Where transpose_quarters() puts what was 16 bytes of a key: elements or scales. */
#define LANE_OF_KEY(key) ((key) % 4 * 4 + (key) / 4)

/* 16 bytes of each of 16 rows, or as many as `bytes` has, transposed: in lane LANE_OF_KEY(n) of x[i] are
 * bytes [4 i, 4 i + 4) of row n. */
VF_INLINE void load_transposed(const char *p, ptrdiff_t stride, __mmask16 bytes, __m512i x[4])
{
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        x[i] = load_quarter(p + 4 * i * stride, stride, bytes);
    transpose_quarters(x);
}

/* ---- scales ----------------------------------------------------------------------------------- */

/* The scales of n groups, of keys [key, key + GROUP_KEYS) of the block, four keys in each vector; 0 for keys
 * that are not there. */
VF_NOINLINE void load_scales_apart(const struct groups *g, int key, ptrdiff_t group, int n,
                                   __m512i x[4])
{
    float lanes[GROUP_KEYS][NIBBLE_GROUPS] = {{0}};
    for (int j = 0; j < GROUP_KEYS && key + j <= g->last; j++)
        for (int i = 0; i < n; i++)
            lanes[j][i] = g->scale[(key + j) * g->scale_row + (group + i) * g->scale_each];
    memcpy(x, lanes, sizeof lanes);
}

/* The same of groups [group, group + NIBBLE_GROUPS), of as many as there are.  One scale for all keys of a
 * head is in all lanes. */
VF_INLINE void load_scales(const struct axis *axis, int key, ptrdiff_t group, __m512i x[4])
{
    const struct groups *const g = &axis->groups;
    const ptrdiff_t left = (axis->steps - 1) / g->steps + 1 - group;
    const int n = left < NIBBLE_GROUPS ? (int)left : NIBBLE_GROUPS;
    const char *const scale = (const char *)(g->scale + key * g->scale_row + group);
    const ptrdiff_t stride = g->scale_row * (ptrdiff_t)sizeof *g->scale;
    if (g->scale_row == 0 && g->scale_each == 0) {
        for (int i = 0; i < 4; i++)
            x[i] = (__m512i)vf_set1(*g->scale);
    } else if (g->scale_each != 1 || key + GROUP_KEYS - 1 > g->last) {
        load_scales_apart(g, key, group, n, x);
    } else if (n == NIBBLE_GROUPS) {
        /* With four groups all lines: 0.95 to 0.98 of the time from memory (D = 128, Zen 4, 2026-11-30). */
#pragma GCC unroll 4
        for (int i = 0; i < GROUP_KEYS; i += 4)
            __builtin_prefetch(scale + (SCALES_AHEAD + i) * stride);
        const bool contiguous = g->scale_row == NIBBLE_GROUPS;
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
            x[i] = contiguous ? _mm512_loadu_si512(scale + i * VF_BYTES)
                              : load_quarter(scale + 4 * i * stride, stride, 0xffff);
    } else {
        const __mmask16 bytes = (__mmask16)((1u << n * (int)sizeof *g->scale) - 1);
        for (int i = 0; i < 4; i++)
            x[i] = load_quarter(scale + 4 * i * stride, stride, bytes);
    }
}
