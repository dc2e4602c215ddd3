/*
 * values.h: part of kernel split_kv: O += P V for a tile's rows, and the table of arithmetic functions.
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
#ifndef ATTN_SPLIT_KV_VALUES_H
#define ATTN_SPLIT_KV_VALUES_H

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
static void pair_weights(struct tile *t, int keys)
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

#if BYTE_PAIRS
#include "nibble_pairs.h"
#endif

/* ---- one function for each format and height of a tile -------------------------------------- */

/* Scores of GROUP_KEYS keys from k on, in lane key * r + row; at most `most` keys at once if rows are few. */
VF_INLINE void dots_of_tile(const enum format format, const int r, const int most, vf *s,
                            const float *q, struct rows k, const struct axis *axis,
                            struct cursor *next)
{
#if VF_LANES == 2 * LANE_ROWS
    if (r == LANE_ROWS) {
        dots_of_eight_rows(format, s, q, k, axis, next);
        return;
    }
#endif
    if (format == FORMAT_I4)
        dots_of_nibbles(r, s, q, k, axis, next);
    else
        dots(format, r, most, s, q, k, axis, next);
}

/* O += P V for steps [x, x + c) of r rows over keys [from, to). */
VF_INLINE void add_steps(const enum format format, const int r, const int c, int tail, ptrdiff_t x,
                         float *o, ptrdiff_t o_stride, const float *p, ptrdiff_t p_stride,
                         struct rows v, int from, int to, struct cursor *cursor)
{
    o += x * FORMAT_VECTORS(format) * VF_LANES;
    v.data += x * FORMAT_STEP(format);
#if BF16_PAIRS
    if (FORMAT_PAIRS(format)) {
        add_pairs_of_values(format, r, c, tail, o, o_stride, p, p_stride, v, from, to, cursor);
        return;
    }
#endif
    v.data += from * v.stride;
    p += from * p_stride;
    add_values(format, r, c, tail, o, o_stride, p, p_stride, v, to - from, cursor);
}

/* O += P V for rows [row, row + r) of t over keys [from, to) of a block whose values are v. */
VF_INLINE void values_of_tile(const enum format format, const int r, const struct tile *t, int row,
                              int from, int to, struct rows v, const struct axis *axis,
                              struct cursor *next)
{
    if (format == FORMAT_I4) {
        values_of_nibbles(r, t, row, from, to, v, axis, next);
        return;
    }
    struct cursor cursor = *next; /* in registers */
    float *o = t->o + row * t->o_floats;
    const float *p = t->p + row;
    const int w = FORMAT_VECTORS(format);
    const int accumulators = VF_REGISTERS == 32 && r > 1 ? 16 : 8;
    const int c = r * w < accumulators ? accumulators / (r * w) : 1;
    ptrdiff_t x = 0;
#pragma GCC unroll 1
    for (; x + c <= axis->full; x += c)
        add_steps(format, r, c, 0, x, o, t->o_floats, p, t->rows, v, from, to, &cursor);
        /* With few rows, a single step has too few sums to hide the latency of a multiply-add. */
#pragma GCC unroll 2
    for (int n = r <= 2 ? c / 2 : 1; n > 1; n /= 2)
        if (x + n <= axis->full) {
            add_steps(format, r, n, 0, x, o, t->o_floats, p, t->rows, v, from, to, &cursor);
            x += n;
        }
#pragma GCC unroll 1
    for (; x < axis->steps; x++)
        add_steps(format, r, 1, x < axis->full ? 0 : axis->tail, x, o, t->o_floats, p, t->rows, v,
                  from, to, &cursor);
    *next = cursor;
}

/* Functions that prefetch by `next`, and functions without any instruction for prefetching. */
#define DOTS(name, format, r, most, lines)                                               \
    VF_NOINLINE void name(vf *s, const float *q, struct rows k, const struct axis *axis, \
                          struct cursor *next)                                           \
    {                                                                                    \
        struct cursor none = {0};                                                        \
        (void)next, (void)none;                                                          \
        dots_of_tile(format, r, most, s, q, k, axis, lines);                             \
    }
#define VALUES(name, format, r, lines)                                                    \
    VF_NOINLINE void name(const struct tile *t, int row, int from, int to, struct rows v, \
                          const struct axis *axis, struct cursor *next)                   \
    {                                                                                     \
        struct cursor none = {0};                                                         \
        (void)next, (void)none;                                                           \
        values_of_tile(format, r, t, row, from, to, v, axis, lines);                      \
    }
#define ARITHMETIC(name, format, r)                  \
    DOTS(dots_##name, format, r, KEYS_ABREAST, next) \
    VALUES(values_##name, format, r, next)
#define ARITHMETIC_OF_FEW(name, format) \
    ARITHMETIC(name##_1, format, 1)     \
    ARITHMETIC(name##_2, format, 2)     \
    ARITHMETIC(name##_4, format, 4)
/* Functions for 4 bits as pairs of bf16, which leave zero points to those of nibbles.h. */
#define ARITHMETIC_OF_NIBBLE_PAIRS(r)                                                     \
    VF_NOINLINE void dots_i4_pairs_##r(vf *s, const float *q, struct rows k,              \
                                       const struct axis *axis, struct cursor *next)      \
    {                                                                                     \
        struct cursor none = {0};                                                         \
        vf exact[r];                                                                      \
        if (axis->groups.zeros) {                                                         \
            dots_i4_##r(s, q, k, axis, next);                                             \
        } else if (!dots_of_nibble_pairs(r, s, q, k, axis, next)) {                       \
            dots_i4_##r(exact, q, k, axis, &none);                                        \
            replace_scores(r, s, exact);                                                  \
        }                                                                                 \
    }                                                                                     \
    VF_NOINLINE void values_i4_pairs_##r(const struct tile *t, int row, int from, int to, \
                                         struct rows v, const struct axis *axis,          \
                                         struct cursor *next)                             \
    {                                                                                     \
        if (axis->groups.zeros)                                                           \
            values_i4_##r(t, row, from, to, v, axis, next);                               \
        else                                                                              \
            values_of_nibble_pairs(r, t, row, from, to, v, axis, next);                   \
    }
ARITHMETIC_OF_FEW(f32, FORMAT_F32)
ARITHMETIC_OF_FEW(bf16, FORMAT_BF16)
ARITHMETIC_OF_FEW(f16, FORMAT_F16)
ARITHMETIC_OF_FEW(i8, FORMAT_I8)
ARITHMETIC_OF_FEW(f8e4m3, FORMAT_F8E4M3)
ARITHMETIC_OF_FEW(f8e5m2, FORMAT_F8E5M2)
ARITHMETIC_OF_FEW(i4, FORMAT_I4)
#if BYTE_PAIRS
ARITHMETIC_OF_NIBBLE_PAIRS(1)
ARITHMETIC_OF_NIBBLE_PAIRS(2)
ARITHMETIC_OF_NIBBLE_PAIRS(4)
#define ARITHMETIC_OF_I4(r) ALIKE(i4_pairs_##r)
#else
#define ARITHMETIC_OF_I4(r) ALIKE(i4_##r)
#endif
#if VF_LANES == 2 * LANE_ROWS
ARITHMETIC(f32_8, FORMAT_F32, 8)
ARITHMETIC(bf16_8, FORMAT_BF16, 8)
#endif
DOTS(apart_f32_1, FORMAT_F32, 1, 1, next)
DOTS(apart_f32_2, FORMAT_F32, 2, 1, next)
DOTS(apart_f32_4, FORMAT_F32, 4, 1, next)
DOTS(apart_bf16_1, FORMAT_BF16, 1, 1, next)
DOTS(apart_bf16_2, FORMAT_BF16, 2, 1, next)
DOTS(apart_bf16_4, FORMAT_BF16, 4, 1, next)
DOTS(stream_bf16_1, FORMAT_BF16, 1, 1, &none)
VALUES(bare_values_bf16_1, FORMAT_BF16, 1, &none)
DOTS(bare_f32_2, FORMAT_F32, 2, KEYS_ABREAST, &none)
DOTS(stream_f32_2, FORMAT_F32, 2, 1, &none)
VALUES(bare_values_f32_2, FORMAT_F32, 2, &none)
DOTS(bare_bf16_2, FORMAT_BF16, 2, KEYS_ABREAST, &none)
DOTS(stream_bf16_2, FORMAT_BF16, 2, 1, &none)
VALUES(bare_values_bf16_2, FORMAT_BF16, 2, &none)
DOTS(bare_f32_4, FORMAT_F32, 4, KEYS_ABREAST, &none)
VALUES(bare_values_f32_4, FORMAT_F32, 4, &none)
DOTS(bare_bf16_4, FORMAT_BF16, 4, KEYS_ABREAST, &none)
VALUES(bare_values_bf16_4, FORMAT_BF16, 4, &none)

/* By format and height. */
static const struct arithmetic {
    /* Scores of GROUP_KEYS keys, for each way of reading (format.h). */
    void (*dots[READINGS])(vf *s, const float *q, struct rows k, const struct axis *axis,
                           struct cursor *next);
    /* O += P V for rows [row, row + height) of t. */
    void (*values[READINGS])(const struct tile *t, int row, int from, int to, struct rows v,
                             const struct axis *axis, struct cursor *next);
} arithmetics[][MOST_ROWS + 1] = {
#define EACH(name, apart, bare, stream, bare_values)               \
    {                                                              \
        {dots_##name, apart, bare, stream},                        \
        {                                                          \
            values_##name, values_##name, bare_values, bare_values \
        }                                                          \
    }
#define ALIKE(name) EACH(name, dots_##name, dots_##name, dots_##name, values_##name)
#define APART(name) EACH(name, apart_##name, dots_##name, apart_##name, values_##name)
#define STREAM(name) EACH(name, apart_##name, dots_##name, stream_##name, bare_values_##name)
#define SHARED(name) EACH(name, apart_##name, bare_##name, apart_##name, bare_values_##name)
#define BARE(name) EACH(name, apart_##name, bare_##name, stream_##name, bare_values_##name)
    [FORMAT_F32] = {[1] = APART(f32_1),
                    [2] = BARE(f32_2),
                    [4] = SHARED(f32_4),
#if VF_LANES == 2 * LANE_ROWS
                    [8] = ALIKE(f32_8)
#endif
    },
    [FORMAT_BF16] = {[1] = STREAM(bf16_1),
                     [2] = BARE(bf16_2),
                     [4] = SHARED(bf16_4),
#if VF_LANES == 2 * LANE_ROWS
                     [8] = ALIKE(bf16_8)
#endif
    },
    [FORMAT_F16] = {[1] = ALIKE(f16_1), [2] = ALIKE(f16_2), [4] = ALIKE(f16_4)},
    [FORMAT_I8] = {[1] = ALIKE(i8_1), [2] = ALIKE(i8_2), [4] = ALIKE(i8_4)},
    [FORMAT_F8E4M3] = {[1] = ALIKE(f8e4m3_1), [2] = ALIKE(f8e4m3_2), [4] = ALIKE(f8e4m3_4)},
    [FORMAT_F8E5M2] = {[1] = ALIKE(f8e5m2_1), [2] = ALIKE(f8e5m2_2), [4] = ALIKE(f8e5m2_4)},
    [FORMAT_I4] = {[1] = ARITHMETIC_OF_I4(1), [2] = ARITHMETIC_OF_I4(2), [4] = ARITHMETIC_OF_I4(4)},
};

static const struct arithmetic *arithmetic_of(enum format format, int rows)
{
    return &arithmetics[format][rows];
}

#endif
