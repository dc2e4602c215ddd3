/*
 * nibble_pairs.h: part of kernel split_kv: K and V of 4 bits, whose zero points are 8, as pairs of bf16.
 *
 * An element less 8 is one of 16 integers, all bfloat16.  A permutation of words looks them up by the lowest
 * bits of each word and ignores the others (vpermw), so that a shift and a permutation widen 32 elements.
 *
 * Of K, 16 bytes of 16 keys are transposed: a lane has a key, pairs of Q are broadcast, and one multiply-add
 * applies the scales of a group to 16 sums.  Four bytes of a key have eight elements, and each of four shifts
 * gives a pair of them that are four apart.  Of V a lane has an element of two adjacent keys, as in bf16, and
 * weights are multiplied by the scales of each group before they are rounded.  With four rows 32 elements take
 * four products of pairs beside four other instructions; widened to f32 (nibbles.h), eight products beside
 * nine.
 *
 * Values are divided by NIBBLE_UNIT and weights multiplied by it (bytes_as_bf16.h says why).
 *
 * A scale times a sum is not the sum of scaled products where the scale is infinite, or the sum too large for a
 * float.  So a score that is not finite is computed again as in nibbles.h.  Subnormal elements of Q count as 0,
 * as for K in bf16.
 */
#pragma once

#include "nibbles.h"

#define NIBBLE_UNIT 8
#define NIBBLE_GROUPS 4  /* whose scales are loaded together: 16 bytes of a key */
#define SCALES_AHEAD 256 /* keys: how far ahead their scales are fetched */

/* ---- elements -------------------------------------------------------------------------------- */

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

/* 16 bytes of each of 16 rows, or as many as `bytes` has, transposed: x[i] has bytes [4 i, 4 i + 4) of a row
 * in each lane. */
VF_INLINE void quads_of_rows(const char *p, ptrdiff_t stride, __mmask16 bytes, __m512i x[4])
{
    const char *third = p + 2 * (4 * stride);
    ptrdiff_t four = 4 * stride, three = 3 * stride;
    /* Few pointers and distances, not 16 pointers. */
    __asm__("" : "+r"(third), "+r"(four), "+r"(three));
    const ptrdiff_t row[4] = {0, stride, 2 * stride, three};
    __m512i rows[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) { /* one in each 128 bits */
        rows[i] = _mm512_castsi128_si512(nibble_load(bytes, p + row[i]));
        rows[i] = _mm512_inserti32x4(rows[i], nibble_load(bytes, p + four + row[i]), 1);
        rows[i] = _mm512_inserti32x4(rows[i], nibble_load(bytes, third + row[i]), 2);
        rows[i] = _mm512_inserti32x4(rows[i], nibble_load(bytes, third + four + row[i]), 3);
    }
    const __m512i lower[2] = {_mm512_unpacklo_epi32(rows[0], rows[1]),
                              _mm512_unpacklo_epi32(rows[2], rows[3])};
    const __m512i upper[2] = {_mm512_unpackhi_epi32(rows[0], rows[1]),
                              _mm512_unpackhi_epi32(rows[2], rows[3])};
    x[0] = _mm512_unpacklo_epi64(lower[0], lower[1]);
    x[1] = _mm512_unpackhi_epi64(lower[0], lower[1]);
    x[2] = _mm512_unpacklo_epi64(upper[0], upper[1]);
    x[3] = _mm512_unpackhi_epi64(upper[0], upper[1]);
}

/* ---- scales ----------------------------------------------------------------------------------- */

/* The scales of n groups, of keys [key, key + GROUP_KEYS) of the block, one in each lane; 0 for keys that are
 * not there. */
VF_NOINLINE void load_scales_apart(const struct groups *g, int key, ptrdiff_t group, int n,
                                   __m512i x[NIBBLE_GROUPS])
{
    float lanes[NIBBLE_GROUPS][GROUP_KEYS] = {{0}};
    for (int i = 0; i < n; i++)
        for (int j = 0; j < GROUP_KEYS && key + j <= g->last; j++)
            lanes[i][j] = g->scale[(key + j) * g->scale_row + (group + i) * g->scale_each];
    memcpy(x, lanes, sizeof lanes);
}

/* The same of groups [group, group + NIBBLE_GROUPS), of as many as there are.  One scale for all keys of a
 * head is in all lanes. */
VF_INLINE void load_scales(const struct axis *axis, int key, ptrdiff_t group,
                           __m512i x[NIBBLE_GROUPS])
{
    const struct groups *const g = &axis->groups;
    const ptrdiff_t left = (axis->steps - 1) / g->steps + 1 - group;
    const int n = left < NIBBLE_GROUPS ? (int)left : NIBBLE_GROUPS;
    const char *const scale = (const char *)(g->scale + key * g->scale_row + group);
    const ptrdiff_t stride = g->scale_row * (ptrdiff_t)sizeof *g->scale;
    if (g->scale_row == 0 && g->scale_each == 0) {
        for (int i = 0; i < NIBBLE_GROUPS; i++)
            x[i] = (__m512i)vf_set1(*g->scale);
    } else if (g->scale_each != 1 || key + GROUP_KEYS - 1 > g->last) {
        load_scales_apart(g, key, group, n, x);
    } else if (n == NIBBLE_GROUPS) {
        /* With four groups all lines: 0.95 to 0.98 of the time from memory (D = 128, Zen 4, 2026-11-30). */
#pragma GCC unroll 4
        for (int i = 0; i < GROUP_KEYS; i += 4)
            __builtin_prefetch(scale + (SCALES_AHEAD + i) * stride);
        quads_of_rows(scale, stride, 0xffff, x);
    } else {
        quads_of_rows(scale, stride, (__mmask16)((1u << n * (int)sizeof *g->scale) - 1), x);
    }
}

/* ---- scores ---------------------------------------------------------------------------------- */

/* sum[half][row] += a step of 16 keys times Q, half of the pairs each. */
VF_INLINE void nibble_pairs_step(const int r, vf sum[2][4], const float *q, const char *k,
                                 ptrdiff_t stride, __mmask16 bytes)
{
    const bf16_vector table = nibble_tables[0];
    __m512i quads[4];
    quads_of_rows(k, stride, bytes, quads);
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
#pragma GCC unroll 4
        for (int n = 0; n < 4; n++) {
            const vi pair = nibble_pairs(table, _mm512_srli_epi32(quads[i], 4u * (unsigned)n));
#pragma GCC unroll 4
            for (int h = 0; h < r; h++)
                sum[n % 2][h] =
                    bf16_dot((vi)vf_broadcast(q + h * VF_LANES + 4 * i + n), pair, sum[n % 2][h]);
        }
}

/* Runs of `size` lanes of a and of b in turn, from the lower halves of both or from the upper ones. */
#define NIBBLE_LOWER(t, size) \
    ((t) / (size) % 2 * VF_LANES + (t) / (2 * (size)) * (size) + (t) % (size))
#define NIBBLE_UPPER(t, size) (VF_LANES / 2 + NIBBLE_LOWER(t, size))
#define NIBBLE_ZIP(half, a, b, size) __builtin_shufflevector(a, b, VF_EACH(half, size))

/* From a vector for each row to lanes key * r + row. */
VF_INLINE void interleave_rows(const int r, const vf *x, vf *s)
{
    if (r == 1) {
        s[0] = x[0];
        return;
    }
    const vf lower = NIBBLE_ZIP(NIBBLE_LOWER, x[0], x[1], 1);
    const vf upper = NIBBLE_ZIP(NIBBLE_UPPER, x[0], x[1], 1);
    if (r == 2) {
        s[0] = lower;
        s[1] = upper;
        return;
    }
    const vf others[2] = {NIBBLE_ZIP(NIBBLE_LOWER, x[2], x[3], 1),
                          NIBBLE_ZIP(NIBBLE_UPPER, x[2], x[3], 1)};
    s[0] = NIBBLE_ZIP(NIBBLE_LOWER, lower, others[0], 2);
    s[1] = NIBBLE_ZIP(NIBBLE_UPPER, lower, others[0], 2);
    s[2] = NIBBLE_ZIP(NIBBLE_LOWER, upper, others[1], 2);
    s[3] = NIBBLE_ZIP(NIBBLE_UPPER, upper, others[1], 2);
}

/* Scores of GROUP_KEYS keys from k on; returns whether all are finite. */
VF_INLINE bool dots_of_nibble_pairs(const int r, vf *s, const float *q, struct rows k,
                                    const struct axis *axis, struct cursor *next)
{
    const ptrdiff_t each = axis->groups.steps;
    const __mmask16 tail = (__mmask16)((1u << axis->tail) - 1);
    struct cursor cursor = *next; /* in registers */
    __m512i scales[NIBBLE_GROUPS];
    vf sums[4] = {{0}}, zero = {0};
    q += r * axis->steps * 2 * VF_LANES; /* behind the floats of nibbles.h */
#pragma GCC unroll 1
    for (ptrdiff_t x = 0, group = 0; x < axis->steps; group++) {
        const ptrdiff_t end = x + each < axis->steps ? x + each : axis->steps;
        const ptrdiff_t whole = end < axis->full ? end : axis->full;
        vf sum[2][4] = {{{0}}};
        if (group % NIBBLE_GROUPS == 0)
            load_scales(axis, 0, group, scales);
#pragma GCC unroll 1
        for (; x < whole; x++, q += r * VF_LANES) {
#pragma GCC unroll 4
            for (int line = 0; line < 4; line++)
                fetch_next(&cursor);
            nibble_pairs_step(r, sum, q, k.data + x * NIBBLE_STEP, k.stride, 0xffff);
        }
        for (; x < end; x++)
            nibble_pairs_step(r, sum, q, k.data + x * NIBBLE_STEP, k.stride, tail);
        const vf scale = (vf)scales[group % NIBBLE_GROUPS];
#pragma GCC unroll 4
        for (int h = 0; h < r; h++)
            sums[h] = vf_fma(sum[0][h] + sum[1][h], scale, sums[h]);
    }
#pragma GCC unroll 4
    for (int h = 0; h < r; h++)
        zero = vf_fma(sums[h], (vf){0}, zero);
    interleave_rows(r, sums, s);
    *next = cursor;
    return !vi_any((vi)(zero != (vf){0}));
}

/* Replaces those of n vectors of scores that are not finite. */
VF_NOINLINE void replace_scores(int n, vf *s, const vf *by)
{
    for (int i = 0; i < n; i++)
        s[i] = vf_select((vi)(s[i] * 0 == (vf){0}), s[i], by[i]);
}

/* ---- values ---------------------------------------------------------------------------------- */

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
        __m512i scales[NIBBLE_GROUPS], key[4];
        vf weight[4];
        __mmask16 keep[4];
        load_scales(axis, j, group, scales);
#pragma GCC unroll 4
        for (int i = 0; i < r; i++) {
            key[i] = (__m512i)((lane + i * VF_LANES) / r);
            const vi at = (vi)key[i] + j;
            keep[i] = _mm512_movepi32_mask((__m512i)((at >= from) & (at < to)));
            weight[i] = vf_load(p + j * r + i * VF_LANES) * NIBBLE_UNIT;
        }
#pragma GCC unroll 4
        for (int x = 0; x < NIBBLE_GROUPS; x++) {
            vf scaled[5] = {{0}};
#pragma GCC unroll 4
            for (int i = 0; i < r; i++)
                scaled[i] = (vf)_mm512_maskz_mul_ps(
                    keep[i], (__m512)weight[i], _mm512_permutexvar_ps(key[i], (__m512)scales[x]));
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
