/*
 * matrix_products.h: part of kernel split_kv: products of a matrix unit.
 *
 * A product takes 16 cycles, loading a tile from L1 8.  So four products share four or five loaded tiles:
 * two tiles of 16 rows at a time or, with a single one, twice the keys or value dimensions.  Products that share
 * a tile of the right factor follow each other.
 */
#pragma once

#include "matrix_operands.h"

/* Scores of two groups of keys for two tiles of rows: s of the first, SCORES later of the second. */
VF_NOINLINE void score_two(const struct rows k[2], const struct queries *queries, float *s)
{
    const uint16_t *q = queries->q, *lower = q + queries->next;
    const size_t steps = queries->steps, all = steps * (size_t)queries->parts;
    TILE_ZERO(0);
    TILE_ZERO(1);
    TILE_ZERO(2);
    TILE_ZERO(3);
    for (size_t x = 0, at = 0; x < all; x++, at++) {
        if (at == steps) /* the next part */
            at = 0;
        TILE_LOAD_PAST_L1(6, q + x * TILE_ELEMENTS, TILE_ROW_BYTES);
        TILE_LOAD(4, k[0].data + at * TILE_ROW_BYTES, k[0].stride);
        TILE_LOAD(5, k[1].data + at * TILE_ROW_BYTES, k[1].stride);
        TILE_DOT_BF16(0, 4, 6);
        TILE_LOAD_PAST_L1(7, lower + x * TILE_ELEMENTS, TILE_ROW_BYTES);
        TILE_DOT_BF16(2, 5, 6);
        TILE_DOT_BF16(1, 4, 7);
        TILE_DOT_BF16(3, 5, 7);
    }
    const ptrdiff_t next = GROUP_KEYS * TILE_ROWS;
    TILE_STORE(0, s, TILE_ROW_BYTES);
    TILE_STORE(1, s + SCORES, TILE_ROW_BYTES);
    TILE_STORE(2, s + next, TILE_ROW_BYTES);
    TILE_STORE(3, s + SCORES + next, TILE_ROW_BYTES);
}

/* Scores of four groups of keys for a tile of rows, the first `groups` of them. */
VF_NOINLINE void score_one(const struct rows k[BLOCK_GROUPS], int groups,
                           const struct queries *queries, float *s, struct fetching *ahead)
{
    const uint16_t *const q = queries->q;
    const size_t steps = queries->steps, all = steps * (size_t)queries->parts;
    TILE_ZERO(0);
    TILE_ZERO(1);
    TILE_ZERO(2);
    TILE_ZERO(3);
    for (size_t x = 0, at = 0; x < all; x++, at++) {
        if (at == steps) /* the next part */
            at = 0;
        TILE_LOAD(4, q + x * TILE_ELEMENTS, TILE_ROW_BYTES);
        TILE_LOAD_PAST_L1(5, k[0].data + at * TILE_ROW_BYTES, k[0].stride);
        TILE_DOT_BF16(0, 5, 4);
        fetch_beside(ahead);
        TILE_LOAD_PAST_L1(6, k[1].data + at * TILE_ROW_BYTES, k[1].stride);
        TILE_DOT_BF16(1, 6, 4);
        fetch_beside(ahead);
        TILE_LOAD_PAST_L1(7, k[2].data + at * TILE_ROW_BYTES, k[2].stride);
        TILE_DOT_BF16(2, 7, 4);
        fetch_beside(ahead);
        TILE_LOAD_PAST_L1(5, k[3].data + at * TILE_ROW_BYTES, k[3].stride);
        TILE_DOT_BF16(3, 5, 4);
        fetch_beside(ahead);
    }
    const ptrdiff_t next = GROUP_KEYS * TILE_ROWS;
    TILE_STORE(0, s, TILE_ROW_BYTES);
    TILE_STORE(1, s + next, TILE_ROW_BYTES);
    if (groups > 2) {
        TILE_STORE(2, s + 2 * next, TILE_ROW_BYTES);
        TILE_STORE(3, s + 3 * next, TILE_ROW_BYTES);
    }
}

/* Tile t = 16 rows of O, or 0 where it holds nothing yet. */
#define LOAD_SUMS(t, o, row, add) \
    do {                          \
        if (add)                  \
            TILE_LOAD(t, o, row); \
        else                      \
            TILE_ZERO(t);         \
    } while (0)

/* The tiles of one step of 16 rows of O, or of two. */
#define LOAD_SUMS_OF_STEPS(two, o, row, add)             \
    do {                                                 \
        LOAD_SUMS(0, o, row, add);                       \
        LOAD_SUMS(1, (o) + TILE_ROWS, row, add);         \
        if (two) {                                       \
            LOAD_SUMS(2, (o) + 2 * TILE_ROWS, row, add); \
            LOAD_SUMS(3, (o) + 3 * TILE_ROWS, row, add); \
        }                                                \
    } while (0)
#define STORE_SUMS_OF_STEPS(two, o, row)             \
    do {                                             \
        TILE_STORE(0, o, row);                       \
        TILE_STORE(1, (o) + TILE_ROWS, row);         \
        if (two) {                                   \
            TILE_STORE(2, (o) + 2 * TILE_ROWS, row); \
            TILE_STORE(3, (o) + 3 * TILE_ROWS, row); \
        }                                            \
    } while (0)

/* O of two tiles of rows += P V over a panel's strips; strips are v_step elements apart, rows of O `row`
 * bytes. */
VF_NOINLINE void values_two(const uint16_t *a, const uint16_t *v, ptrdiff_t v_step, int strips,
                            size_t steps, float *o, ptrdiff_t row, bool add)
{
    const uint16_t *lower = a + WEIGHTS;
    for (size_t x = 0; x < steps; x++, v += 2 * TILE_ELEMENTS, o += STEP_DIMS) {
        char *const below = (char *)o + TILE_ROWS * row;
        LOAD_SUMS(0, o, row, add);
        LOAD_SUMS(1, o + TILE_ROWS, row, add);
        LOAD_SUMS(2, below, row, add);
        LOAD_SUMS(3, below + TILE_ROW_BYTES, row, add);
        for (int s = 0; s < strips; s++) {
            const uint16_t *b = v + s * v_step;
            TILE_LOAD_PAST_L1(6, b, TILE_ROW_BYTES);
            TILE_LOAD(4, a + s * TILE_ELEMENTS, TILE_ROW_BYTES);
            TILE_LOAD(5, lower + s * TILE_ELEMENTS, TILE_ROW_BYTES);
            TILE_DOT_BF16(0, 4, 6);
            TILE_LOAD_PAST_L1(7, b + TILE_ELEMENTS, TILE_ROW_BYTES);
            TILE_DOT_BF16(2, 5, 6);
            TILE_DOT_BF16(1, 4, 7);
            TILE_DOT_BF16(3, 5, 7);
        }
        TILE_STORE(0, o, row);
        TILE_STORE(1, o + TILE_ROWS, row);
        TILE_STORE(2, below, row);
        TILE_STORE(3, below + TILE_ROW_BYTES, row);
    }
}

/* The same of one tile of rows, for one or two of its steps: the first four tiles of sums, or two. */
VF_INLINE void values_of_steps(const bool two, const uint16_t *a, const uint16_t *v,
                               ptrdiff_t v_step, int strips, float *o, ptrdiff_t row, bool add)
{
    LOAD_SUMS_OF_STEPS(two, o, row, add);
    for (int s = 0; s < strips; s++) {
        const uint16_t *b = v + s * v_step;
        TILE_LOAD(4, a + s * TILE_ELEMENTS, TILE_ROW_BYTES);
        TILE_LOAD(5, b, TILE_ROW_BYTES);
        TILE_DOT_BF16(0, 4, 5);
        TILE_LOAD(6, b + TILE_ELEMENTS, TILE_ROW_BYTES);
        TILE_DOT_BF16(1, 4, 6);
        if (!two)
            continue;
        TILE_LOAD(7, b + 2 * TILE_ELEMENTS, TILE_ROW_BYTES);
        TILE_DOT_BF16(2, 4, 7);
        TILE_LOAD(5, b + 3 * TILE_ELEMENTS, TILE_ROW_BYTES);
        TILE_DOT_BF16(3, 4, 5);
    }
    STORE_SUMS_OF_STEPS(two, o, row);
}

VF_NOINLINE void values_one(const uint16_t *a, const uint16_t *v, ptrdiff_t v_step, int strips,
                            size_t steps, float *o, ptrdiff_t row, bool add)
{
    for (; steps >= 2; steps -= 2, v += 4 * TILE_ELEMENTS, o += 2 * STEP_DIMS)
        values_of_steps(true, a, v, v_step, strips, o, row, add);
    if (steps)
        values_of_steps(false, a, v, v_step, strips, o, row, add);
}
