/*
 * split_kv_pairs.h: O += P V with pairs of bf16, for split_kv.c in avx512_bf16.
 *
 * A lane of 32 bits holds the weights, or values, of two neighbouring keys, and vdpbf16ps
 * multiplies and adds both: half the multiply-adds of widened values, for which P is rounded to
 * bf16.  Values of two keys are joined where they are loaded, even elements in one vector and odd
 * ones in the other, which costs as many instructions as widening them.
 */
#ifndef ATTN_SPLIT_KV_PAIRS_H
#define ATTN_SPLIT_KV_PAIRS_H

#include "split_kv_tile.h"

#ifdef __AVX512BF16__

/* P of `keys` keys, a multiple of GROUP_KEYS, in place: [key / 2][row], both keys in a lane. */
static void pair_weights(struct tile *t, int keys)
{
    typedef uint16_t words __attribute__((vector_size(VF_BYTES)));
    const uint16_t bits = (uint16_t)__builtin_ctz((unsigned)t->rows); /* rows are a power of two */
    words lane;
    for (int i = 0; i < 2 * VF_LANES; i++)
        lane[i] = (uint16_t)i;
    const words row = lane >> 1 & (uint16_t)(t->rows - 1), pair = lane >> (bits + 1);
    const words from = ((2 * pair + (lane & 1)) << bits) + row;
    const int n = keys * t->rows / VF_LANES;
    for (int i = 0; i < n; i += 2) {
        const vf a = vf_load(t->p + i * VF_LANES);
        const vf b = i + 1 < n ? vf_load(t->p + (i + 1) * VF_LANES) : (vf){0};
        const __m512i apart = (__m512i)_mm512_cvtne2ps_pbh(b, a); /* all of a, then all of b */
        const __m512i joined = _mm512_permutexvar_epi16((__m512i)from, apart);
        memcpy(t->p + i / 2 * VF_LANES, &joined, sizeof joined);
    }
}

VF_INLINE vi load_v(int tail, const char *p)
{
    vi v;
    if (tail)
        return vi_load_bytes(p, (size_t)tail);
    memcpy(&v, p, sizeof v);
    return v;
}

/* a[r rows][c steps][even, odd] += the weights p of two keys times their values at v and w, of
 * which either may be NULL and its weights zero. */
VF_INLINE void pair_step(const int r, const int c, int tail, vf *a, const float *p, const char *v,
                         const char *w, struct cursor *cursor)
{
    vi pj[EIGHT];
#pragma GCC unroll 8
    for (int h = 0; h < r; h++)
        pj[h] = (vi)vf_broadcast(p + h);
#pragma GCC unroll 8
    for (int x = 0; x < c; x++) {
        const vi first = v ? load_v(tail, v + x * VF_BYTES) : (vi){0};
        const vi second = w ? load_v(tail, w + x * VF_BYTES) : (vi){0};
        const vi even = (first & 0xffff) | second << 16;
        const vi odd = (vi)((vu)first >> 16) | (second & (int32_t)0xffff0000);
        fetch_next(cursor);
        fetch_next(cursor);
#pragma GCC unroll 8
        for (int h = 0; h < r; h++) {
            a[(h * c + x) * 2] = bf16_dot(pj[h], even, a[(h * c + x) * 2]);
            a[(h * c + x) * 2 + 1] = bf16_dot(pj[h], odd, a[(h * c + x) * 2 + 1]);
        }
    }
}

/* o[r rows][c steps] += P V over keys [from, to) of a block; of a step only `tail` bytes exist, if
 * not 0. */
VF_INLINE void accumulate_pairs(const int r, const int c, int tail, float *o, ptrdiff_t o_stride,
                                const float *p, ptrdiff_t p_stride, struct rows v, int from, int to,
                                struct cursor *cursor)
{
    const int n = 2 * c;
    vf a[16];
    load_sums(r, n, a, o, o_stride);
    const char *at = v.data + from * v.stride;
    p += from / 2 * p_stride;
    if (from % 2) {
        pair_step(r, c, tail, a, p, NULL, at, cursor);
        at += v.stride;
        p += p_stride;
        from++;
    }
#pragma GCC unroll 1
    for (; from + 1 < to; from += 2, p += p_stride, at += 2 * v.stride)
        pair_step(r, c, tail, a, p, at, at + v.stride, cursor);
    if (from < to)
        pair_step(r, c, tail, a, p, at, NULL, cursor);
    store_sums(r, n, a, o, o_stride);
}

#endif
#endif
