/*
 * listed_rows.h: part of kernel split_kv: the two products with rows of K and V that lie wherever a list names
 * them, read in place.
 *
 * Functions take the addresses of rows, one after the other, in place of rows.  Beside each line that they
 * multiply they prefetch one of a row whose address is cursor.far bytes further on: beside K the values of the
 * same keys, beside V the keys of the next block.  So only a few misses are outstanding at a time, nothing waits
 * for them, and each has the products of a block to arrive in.  A burst of a block's rows would fill the few
 * buffers of L1 misses, and the products would wait.
 *
 * Sums are made in the same order as in scores.h and values.h, and have the same bits.
 */
#pragma once

#include "listed_scores.h"
#include "listed_values.h"

#define LISTED(name, format, r)                                                                   \
    VF_NOINLINE void listed_##name(vf *s, const float *q, struct rows k, const struct axis *axis, \
                                   struct cursor *next)                                           \
    {                                                                                             \
        listed_dots(format, r, s, q, k, axis, next);                                              \
    }                                                                                             \
    VF_NOINLINE void listed_values_##name(const struct tile *t, int row, int from, int to,        \
                                          struct rows v, const struct axis *axis,                 \
                                          struct cursor *next)                                    \
    {                                                                                             \
        assert(row == 0 && from == 0);                                                            \
        (void)row, (void)from;                                                                    \
        listed_values(format, r, t, to, v, axis, next);                                           \
    }
#define LISTED_OF_FEW(name, format) \
    LISTED(name##_1, format, 1)     \
    LISTED(name##_2, format, 2)     \
    LISTED(name##_4, format, 4)
#if TAKES_F32
LISTED_OF_FEW(f32, FORMAT_F32)
OF_EIGHT_ROWS(LISTED(f32_8, FORMAT_F32, 8))
#endif
#if TAKES_BF16
LISTED_OF_FEW(bf16, FORMAT_BF16)
OF_EIGHT_ROWS(LISTED(bf16_8, FORMAT_BF16, 8))
#endif
#if TAKES_F16
LISTED_OF_FEW(f16, FORMAT_F16)
#endif
LISTED_OF_FEW(i8, FORMAT_I8)
LISTED_OF_FEW(f8e4m3, FORMAT_F8E4M3)
LISTED_OF_FEW(f8e5m2, FORMAT_F8E5M2)

/* By format and height; as in struct arithmetic. */
static const struct products {
    void (*dots)(vf *s, const float *q, struct rows k, const struct axis *axis,
                 struct cursor *next);
    void (*values)(const struct tile *t, int row, int from, int to, struct rows v,
                   const struct axis *axis, struct cursor *next);
} listed_products[][MOST_ROWS + 1] = {
#define EACH_LISTED(name)                   \
    {                                       \
        listed_##name, listed_values_##name \
    }
#define LISTED_PRODUCTS(name) \
    [1] = EACH_LISTED(name##_1), [2] = EACH_LISTED(name##_2), [4] = EACH_LISTED(name##_4)
#if TAKES_F32
    [FORMAT_F32] = {LISTED_PRODUCTS(f32), OF_EIGHT_ROWS([8] = EACH_LISTED(f32_8))},
#endif
#if TAKES_BF16
    [FORMAT_BF16] = {LISTED_PRODUCTS(bf16), OF_EIGHT_ROWS([8] = EACH_LISTED(bf16_8))},
#endif
#if TAKES_F16
    [FORMAT_F16] = {LISTED_PRODUCTS(f16)},
#endif
    [FORMAT_I8] = {LISTED_PRODUCTS(i8)},
    [FORMAT_F8E4M3] = {LISTED_PRODUCTS(f8e4m3)},
    [FORMAT_F8E5M2] = {LISTED_PRODUCTS(f8e5m2)},
};
