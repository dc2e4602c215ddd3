/*
 * nibble_values.h: part of kernel split_kv: O += P V for V of 4 bits as pairs of bf16.
 *
 * A lane has an element of two adjacent keys, as in bf16.  Weights are multiplied by the scales of each group
 * before they are rounded.
 */
#pragma once

#include "nibble_pairs.h"

/* Weights of a block times the scales of NIBBLE_GROUPS groups and NIBBLE_UNIT, in bf16: [group][pair of
 * keys][row].  Pairs of which neither key is asked for are not set. */
struct nibble_weights {
    float pairs[NIBBLE_GROUPS][(BLOCK_KEYS / 2 + VF_LANES / 2) * 4];
};

/* Of keys [from, to), whose weights of r rows begin at p, and groups from `group` on.  Other keys have a weight
 * of 0. */
VF_INLINE void scale_pairs(const int r, const float *p, int from, int to, const struct axis *axis,
                           ptrdiff_t group, struct nibble_weights *w)
{
    const bf16_vector order = pair_order(r);
    vi lane;
    for (int i = 0; i < VF_LANES; i++)
        lane[i] = i;
#pragma GCC unroll 1
    for (int j = from / GROUP_KEYS * GROUP_KEYS; j < to; j += GROUP_KEYS) {
        const bool all = from <= j && j + GROUP_KEYS <= to;
        __m512i scales[NIBBLE_GROUPS];
        vf weight[4];
        vi from_lane[4];
        __mmask16 keep[4];
        load_scales(axis, j, group, scales);
        if (r != 4) /* with four rows a vector of weights has four keys, too */
            transpose_quarters(scales);
#pragma GCC unroll 4
        for (int i = 0; i < r; i++) {
            const vi key = (lane + i * VF_LANES) / r, at = j + key;
            from_lane[i] = LANE_OF_KEY(key);
            keep[i] = all ? 0xffff : _mm512_movepi32_mask((__m512i)((at >= from) & (at < to)));
            weight[i] = vf_load(p + j * r + i * VF_LANES) * NIBBLE_UNIT;
        }
#pragma GCC unroll 4
        for (int x = 0; x < NIBBLE_GROUPS; x++) {
            vf scaled[5] = {{0}};
#pragma GCC unroll 4
            for (int i = 0; i < r; i++)
                scaled[i] = (vf)_mm512_maskz_mul_ps(
                    keep[i], (__m512)weight[i],
                    _mm512_permutexvar_ps((__m512i)(r == 4 ? lane / 4 * 4 + x : from_lane[i]),
                                          (__m512)scales[r == 4 ? i : x]));
#pragma GCC unroll 2
            for (int i = 0; i < r; i += 2) {
                const bf16_vector pairs =
                    bf16_permute(bf16_narrow(scaled[i], scaled[i + 1]), order);
                memcpy(w->pairs[x] + j / 2 * r + i / 2 * VF_LANES, &pairs, sizeof pairs);
            }
        }
    }
}

/* Steps [x, x + c) of O of r rows += P V over the pairs of keys [from, to).  Step x is number `at` of w's
 * groups. */
VF_INLINE void add_nibble_pairs(const int r, const int c, const bool whole, const bool fetches,
                                ptrdiff_t x, ptrdiff_t at, float *o, ptrdiff_t o_stride,
                                const struct nibble_weights *w, struct rows v, int from, int to,
                                const struct axis *axis, struct cursor *cursor)
{
    const int n = 2 * c, first = from / 2;
    const __mmask16 bytes = whole || x < axis->full ? 0xffff : (__mmask16)((1u << axis->tail) - 1);
    const bf16_vector table = nibble_tables[1];
    const char *row = v.data + 2 * first * v.stride + x * NIBBLE_STEP;
    const float *p[4];
    vf a[16];
    vi lane;
    for (int i = 0; i < VF_LANES; i++)
        lane[i] = i * 0x01010101 | 0x40400000; /* a byte of each key in the words of lane i */
#pragma GCC unroll 4
    for (int i = 0; i < c; i++)
        p[i] = w->pairs[(at + i) / axis->groups.steps] + first * r;
    o += x * 2 * VF_LANES;
    load_sums(r, n, a, o, o_stride);
#pragma GCC unroll 1
    for (int key = 2 * first; key < to; key += 2, row += 2 * v.stride) {
        const char *const second = row + (key + 1 < to ? v.stride : 0);
        if (fetches) {
            fetch_next(cursor);
            fetch_next(cursor);
        }
#pragma GCC unroll 4
        for (int i = 0; i < c; i++, p[i - 1] += r) {
            const __m512i both = _mm512_permutex2var_epi8(
                _mm512_castsi128_si512(nibble_load(bytes, row + i * NIBBLE_STEP)), (__m512i)lane,
                _mm512_castsi128_si512(nibble_load(bytes, second + i * NIBBLE_STEP)));
            const vi elements[2] = {nibble_pairs(table, both),
                                    nibble_pairs(table, _mm512_srli_epi32(both, 4))};
#pragma GCC unroll 4
            for (int h = 0; h < r; h++)
#pragma GCC unroll 2
                for (int u = 0; u < 2; u++)
                    a[h * n + i * 2 + u] =
                        bf16_dot((vi)vf_broadcast(p[i] + h), elements[u], a[h * n + i * 2 + u]);
        }
    }
    store_sums(r, n, a, o, o_stride);
}

/* The same for all steps of w's groups, which begin with step x. */
VF_INLINE void values_of_groups(const int r, ptrdiff_t x, float *o, ptrdiff_t o_stride,
                                const struct nibble_weights *w, struct rows v, int from, int to,
                                const struct axis *axis, struct cursor *cursor)
{
    const int c = r > 1 ? 8 / r : 4;
    const ptrdiff_t first = x, last = x + NIBBLE_GROUPS * axis->groups.steps;
    const ptrdiff_t end = last < axis->steps ? last : axis->steps;
    const ptrdiff_t whole = axis->full < end ? axis->full : end;
#pragma GCC unroll 1
    for (; x + c <= whole; x += c)
        if (x * NIBBLE_STEP % 64 == 0)
            add_nibble_pairs(r, c, true, true, x, x - first, o, o_stride, w, v, from, to, axis,
                             cursor);
        else
            add_nibble_pairs(r, c, true, false, x, x - first, o, o_stride, w, v, from, to, axis,
                             cursor);
#pragma GCC unroll 1
    for (; x < end; x++)
        add_nibble_pairs(r, 1, false, true, x, x - first, o, o_stride, w, v, from, to, axis,
                         cursor);
}

/* O of rows [row, row + r) of t += P V over keys [from, to) of a block whose values are v. */
VF_INLINE void values_of_nibble_pairs(const int r, const struct tile *t, int row, int from, int to,
                                      struct rows v, const struct axis *axis, struct cursor *next)
{
    const ptrdiff_t each = axis->groups.steps * NIBBLE_GROUPS;
    struct cursor cursor = *next; /* in registers */
    const float *p = t->p + row;
    float own[BLOCK_KEYS * 4];
    struct nibble_weights w;
    if (t->rows != r) { /* of some rows of a tile */
        for (int i = from * r; i < to * r; i++)
            own[i] = p[i / r * t->rows + i % r];
        p = own;
    }
#pragma GCC unroll 1
    for (ptrdiff_t x = 0; x < axis->steps; x += each) {
        scale_pairs(r, p, from, to, axis, x / axis->groups.steps, &w);
        values_of_groups(r, x, t->o + row * t->o_floats, t->o_floats, &w, v, from, to, axis,
                         &cursor);
    }
    *next = cursor;
}
