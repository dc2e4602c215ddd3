/*
 * values.h: part of kernel split_kv: O += P V for a tile's rows.
 *
 * P is loaded as broadcasts, and each step of a V row is loaded once for all rows.
 *
 * Registers (avx512): 16 accumulators of 4 rows x 4 steps of O (or 8 x 2), 4 broadcasts of P, 1 vector of V;
 * on neon the weights of 4 rows are lanes of one register.
 *
 * On avx512_bf16 a lane of 32 bits holds the weights, or values, of two adjacent keys, and vdpbf16ps
 * multiplies and adds both: half the multiply-adds of widened values, with P rounded to bf16.  Values of two
 * keys are interleaved when they are loaded, even elements in one vector and odd ones in the other, which
 * costs as many instructions as widening.  Values of 8 and 4 bits become bf16 when they are interleaved
 * (byte_pairs.h, nibble_pairs.h).
 */
#pragma once

#include "shared/simd_factors.h"
#include "scores.h"

/* The functions below have many scalar parameters: with a struct GCC 12 keeps other values in registers, and
 * some loops have 26 instructions instead of 22. */

/* Loads n vectors of O of each of r rows. */
VF_INLINE void load_sums(const int r, const int n, vf *a, const float *o, ptrdiff_t o_stride)
{
#pragma GCC unroll 8
    for (int h = 0; h < r; h++)
#pragma GCC unroll 16
        for (int x = 0; x < n; x++)
            a[h * n + x] = vf_load(o + h * o_stride + x * VF_LANES);
}

VF_INLINE void store_sums(const int r, const int n, const vf *a, float *o, ptrdiff_t o_stride)
{
#pragma GCC unroll 8
    for (int h = 0; h < r; h++)
#pragma GCC unroll 16
        for (int x = 0; x < n; x++)
            vf_store(o + h * o_stride + x * VF_LANES, a[h * n + x]);
}

#include "nibbles.h"

#if VF_FACTOR_IN_LANE
/* Loads the weights of VF_FACTORS rows at once; multiply-adds take each from its lane. */
VF_INLINE void weights_in_lanes(vf pj[VF_FACTORS], const float *p)
{
    const vf all = vf_load_factors(p);
#pragma GCC unroll 4
    for (int h = 0; h < VF_FACTORS; h++)
        pj[h] = vf_set1(all[h]);
}
#endif

/* o[r rows][c steps] += p[keys][r] v[keys][c]; `tail`, if not 0: bytes of the only, incomplete step. */
VF_INLINE void add_values(const enum format format, const int r, const int c, int tail, float *o,
                          ptrdiff_t o_stride, const float *p, ptrdiff_t p_stride, struct rows v,
                          int keys, struct cursor *cursor)
{
    const int w = FORMAT_VECTORS(format), n = c * w;
    vf a[16];
    load_sums(r, n, a, o, o_stride);
#pragma GCC unroll 1
    for (int j = 0; j < keys; j++) {
        vf pj[MOST_ROWS];
#pragma GCC unroll 8
        for (int h = 0; h < r; h++)
            pj[h] = vf_set1(p[h]);
#if VF_FACTOR_IN_LANE
        if (r == VF_FACTORS)
            weights_in_lanes(pj, p);
#endif
#pragma GCC unroll 16
        for (int x = 0; x < c; x++) {
            vf vx[2];
            widen_step(format, tail, v.data + x * FORMAT_STEP(format), vx);
            if (FORMAT_FETCHES(format, x))
                fetch_next(cursor);
#pragma GCC unroll 2
            for (int u = 0; u < w; u++)
#pragma GCC unroll 8
                for (int h = 0; h < r; h++)
                    a[h * n + x * w + u] = vf_fma(pj[h], vx[u], a[h * n + x * w + u]);
        }
        v.data += v.stride;
        p += p_stride;
    }
    store_sums(r, n, a, o, o_stride);
}

/* ---- pairs of bf16 -------------------------------------------------------------------------- */

#if BF16_PAIRS

/* From where in [key][row] each word of [key / 2][row] comes, both keys in a lane; rows are a power of
 * two. */
VF_INLINE bf16_vector pair_order(int rows)
{
    const uint16_t bits = (uint16_t)__builtin_ctz((unsigned)rows);
    bf16_vector lane;
    for (int i = 0; i < 2 * VF_LANES; i++)
        lane[i] = (uint16_t)i;
    const bf16_vector row = lane >> 1 & (uint16_t)(rows - 1), pair = lane >> (bits + 1);
    return ((2 * pair + (lane & 1)) << bits) + row;
}

/* Rearranges P of `keys` keys, a multiple of GROUP_KEYS, in place, in that order. */
VF_INLINE void pair_weights(struct tile *t, int keys)
{
    const bf16_vector from = pair_order(t->rows);
    const int n = keys * t->rows / VF_LANES;
    for (int i = 0; i < n; i += 2) {
        const vf a = vf_load(t->p + i * VF_LANES);
        const vf b = i + 1 < n ? vf_load(t->p + (i + 1) * VF_LANES) : (vf){0};
        const bf16_vector joined = bf16_permute(bf16_narrow(a, b), from);
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

/* A step of the values of two keys, each lane with one of both: in bf16 the even and the odd ones. */
VF_INLINE void join_values(const enum format format, vi first, vi second, vi x[4])
{
#if BYTE_PAIRS
    if (FORMAT_BYTE_PAIRS(format)) {
        join_bytes(format, first, second, x);
        return;
    }
#else
    (void)format;
#endif
    x[0] = (first & 0xffff) | second << 16;
    x[1] = (vi)((vu)first >> 16) | (second & (int32_t)0xffff0000);
}

/* a[r rows][c steps][vectors of a step] += the weights p of two keys times their values at v and w; either
 * may be NULL, with weights of 0. */
VF_INLINE void pair_step(const enum format format, const int r, const int c, int tail, vf *a,
                         const float *p, const char *v, const char *w, struct cursor *cursor)
{
    const int n = FORMAT_VECTORS(format);
    vi pj[LANE_ROWS];
#pragma GCC unroll 8
    for (int h = 0; h < r; h++)
        pj[h] = (vi)vf_broadcast(p + h);
#pragma GCC unroll 8
    for (int x = 0; x < c; x++) {
        const vi first = v ? load_v(tail, v + x * VF_BYTES) : (vi){0};
        const vi second = w ? load_v(tail, w + x * VF_BYTES) : (vi){0};
        vi both[4];
        join_values(format, first, second, both);
        fetch_next(cursor);
        fetch_next(cursor);
#pragma GCC unroll 8
        for (int h = 0; h < r; h++)
#pragma GCC unroll 4
            for (int u = 0; u < n; u++)
                a[(h * c + x) * n + u] = bf16_dot(pj[h], both[u], a[(h * c + x) * n + u]);
    }
}

/* o[r rows][c steps] += P V over keys [from, to) of a block; `tail` as above. */
VF_INLINE void add_pairs_of_values(const enum format format, const int r, const int c, int tail,
                                   float *o, ptrdiff_t o_stride, const float *p, ptrdiff_t p_stride,
                                   struct rows v, int from, int to, struct cursor *cursor)
{
    const int n = FORMAT_VECTORS(format) * c;
    vf a[16];
    load_sums(r, n, a, o, o_stride);
    const char *at = v.data + from * v.stride;
    p += from / 2 * p_stride;
    if (from % 2) {
        pair_step(format, r, c, tail, a, p, NULL, at, cursor);
        at += v.stride;
        p += p_stride;
        from++;
    }
#pragma GCC unroll 1
    for (; from + 1 < to; from += 2, p += p_stride, at += 2 * v.stride)
        pair_step(format, r, c, tail, a, p, at, at + v.stride, cursor);
    if (from < to)
        pair_step(format, r, c, tail, a, p, at, NULL, cursor);
    store_sums(r, n, a, o, o_stride);
}

#endif
