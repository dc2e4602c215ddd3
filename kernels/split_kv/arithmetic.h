/*
 * arithmetic.h: part of kernel split_kv: the two products for each format, height of a tile, and way of
 * reading.
 */
#pragma once

#include "values.h"
#if BYTE_PAIRS
#include "nibble_scores.h"
#include "nibble_values.h"
#endif

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
        if (axis->groups.zeros)                                                           \
            dots_i4_##r(s, q, k, axis, next);                                             \
        else                                                                              \
            scores_of_nibble_pairs(r, s, q, k, axis, next, dots_i4_##r);                  \
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
#if TAKES_F32
ARITHMETIC_OF_FEW(f32, FORMAT_F32)
OF_EIGHT_ROWS(ARITHMETIC(f32_8, FORMAT_F32, 8))
DOTS(apart_f32_1, FORMAT_F32, 1, 1, next)
DOTS(apart_f32_2, FORMAT_F32, 2, 1, next)
DOTS(apart_f32_4, FORMAT_F32, 4, 1, next)
DOTS(bare_f32_2, FORMAT_F32, 2, KEYS_ABREAST, &none)
DOTS(stream_f32_2, FORMAT_F32, 2, 1, &none)
VALUES(bare_values_f32_2, FORMAT_F32, 2, &none)
DOTS(bare_f32_4, FORMAT_F32, 4, KEYS_ABREAST, &none)
VALUES(bare_values_f32_4, FORMAT_F32, 4, &none)
#endif
#if TAKES_BF16
ARITHMETIC_OF_FEW(bf16, FORMAT_BF16)
OF_EIGHT_ROWS(ARITHMETIC(bf16_8, FORMAT_BF16, 8))
DOTS(apart_bf16_1, FORMAT_BF16, 1, 1, next)
DOTS(apart_bf16_2, FORMAT_BF16, 2, 1, next)
DOTS(apart_bf16_4, FORMAT_BF16, 4, 1, next)
DOTS(stream_bf16_1, FORMAT_BF16, 1, 1, &none)
VALUES(bare_values_bf16_1, FORMAT_BF16, 1, &none)
DOTS(bare_bf16_2, FORMAT_BF16, 2, KEYS_ABREAST, &none)
DOTS(stream_bf16_2, FORMAT_BF16, 2, 1, &none)
VALUES(bare_values_bf16_2, FORMAT_BF16, 2, &none)
DOTS(bare_bf16_4, FORMAT_BF16, 4, KEYS_ABREAST, &none)
VALUES(bare_values_bf16_4, FORMAT_BF16, 4, &none)
#endif
#if TAKES_F16
ARITHMETIC_OF_FEW(f16, FORMAT_F16)
#endif
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

/* By format and height. */
static const struct arithmetic {
    /* Scores of GROUP_KEYS keys, or of twice as many (struct groups), for each way of reading (format.h). */
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
#if TAKES_F32
    [FORMAT_F32] = {[1] = APART(f32_1),
                    [2] = BARE(f32_2),
                    [4] = SHARED(f32_4),
                    OF_EIGHT_ROWS([8] = ALIKE(f32_8))},
#endif
#if TAKES_BF16
    [FORMAT_BF16] = {[1] = STREAM(bf16_1),
                     [2] = BARE(bf16_2),
                     [4] = SHARED(bf16_4),
                     OF_EIGHT_ROWS([8] = ALIKE(bf16_8))},
#endif
#if TAKES_F16
    [FORMAT_F16] = {[1] = ALIKE(f16_1), [2] = ALIKE(f16_2), [4] = ALIKE(f16_4)},
#endif
    [FORMAT_I8] = {[1] = ALIKE(i8_1), [2] = ALIKE(i8_2), [4] = ALIKE(i8_4)},
    [FORMAT_F8E4M3] = {[1] = ALIKE(f8e4m3_1), [2] = ALIKE(f8e4m3_2), [4] = ALIKE(f8e4m3_4)},
    [FORMAT_F8E5M2] = {[1] = ALIKE(f8e5m2_1), [2] = ALIKE(f8e5m2_2), [4] = ALIKE(f8e5m2_4)},
    [FORMAT_I4] = {[1] = ARITHMETIC_OF_I4(1), [2] = ARITHMETIC_OF_I4(2), [4] = ARITHMETIC_OF_I4(4)},
};

static const struct arithmetic *arithmetic_of(enum format format, int rows)
{
    return &arithmetics[format][rows];
}
