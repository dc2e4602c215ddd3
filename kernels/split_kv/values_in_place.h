/*
 * values_in_place.h: part of kernel split_kv: values for a unit's only tile of rows on a matrix unit, read in
 * place.
 *
 * A product multiplies pairs: a row of the right factor holds the values of two keys, column by column.
 * Packing V into such rows takes longer than the products of 16 rows.  A row of V in memory has two
 * dimensions of one key in a pair.  So there are two left factors: weights each followed by a 0, which give
 * even dimensions, and weights each preceded by a 0, which give odd ones: twice the products, of 16 keys
 * each, and no packing.
 *
 * A value that is not finite makes its neighbour dimension NaN, as 0 times it is NaN: panels.h tests the
 * results.
 */
#pragma once

#include "matrix_products.h"

/* Tiles of a strip's weights: of 16 keys for even and for odd dimensions, and of the other 16 keys
 * likewise. */
enum { SPREAD_TILES = 4 };

#ifdef ATTN_TILES_EMULATED

/* Converts weights of a strip's keys and 16 rows, [key][row], to tiles. */
static void spread_weights(const float *p, uint16_t *to)
{
    memset(to, 0, SPREAD_TILES * TILE_ELEMENTS * sizeof *to);
    for (int key = 0; key < STRIP_KEYS; key++)
        for (int row = 0; row < TILE_ROWS; row++) {
            uint16_t *even =
                to + key / GROUP_KEYS * 2 * TILE_ELEMENTS + row * STEP_DIMS + key % GROUP_KEYS * 2;
            even[0] = even[TILE_ELEMENTS + 1] = attn_f32_to_bf16(p[key * TILE_ROWS + row]);
        }
}

#else

static void spread_weights(const float *p, uint16_t *to)
{
    vi pairs[TILE_ROWS];
    const uint16_t *rows[TILE_ROWS];
    uint16_t both[TILE_ELEMENTS] __attribute__((aligned(TILE_ROW_BYTES)));
    const __m512i low = _mm512_set1_epi32(0xffff);
    VF_UNROLL
    for (int i = 0; i < GROUP_KEYS; i++) {
        pairs[i] = bf16_join(vf_load(p + i * TILE_ROWS), vf_load(p + (GROUP_KEYS + i) * TILE_ROWS));
        rows[i] = (const uint16_t *)&pairs[i];
    }
    transpose_pairs(rows, both);
    VF_UNROLL
    for (int i = 0; i < TILE_ROWS; i++, to += STEP_DIMS) {
        const __m512i x = _mm512_load_si512(both + i * STEP_DIMS);
        _mm512_store_si512(to, _mm512_and_si512(x, low));
        _mm512_store_si512(to + TILE_ELEMENTS, _mm512_slli_epi32(x, 16));
        _mm512_store_si512(to + 2 * TILE_ELEMENTS, _mm512_srli_epi32(x, 16));
        _mm512_store_si512(to + 3 * TILE_ELEMENTS, _mm512_andnot_si512(low, x));
    }
}

#endif

/* O += P V, or without `add` O = P V, for a tile of rows over a block's groups of keys, v: one step of its
 * dimensions, from byte `at` of a value on, or two.  Weights are tiles in a. */
VF_INLINE void values_in_place_of_steps(const bool two, const uint16_t *a,
                                        const struct rows v[BLOCK_GROUPS], ptrdiff_t at, int groups,
                                        float *o, ptrdiff_t row, bool add, struct fetching *ahead)
{
    LOAD_SUMS_OF_STEPS(two, o, row, add);
    for (int g = 0; g < groups; g++) {
        const uint16_t *even = a + g * 2 * TILE_ELEMENTS;
        TILE_LOAD(4, even, TILE_ROW_BYTES);
        TILE_LOAD_PAST_L1(6, v[g].data + at, v[g].stride);
        TILE_DOT_BF16(0, 4, 6);
        fetch_beside(ahead);
        TILE_LOAD(5, even + TILE_ELEMENTS, TILE_ROW_BYTES);
        TILE_DOT_BF16(1, 5, 6);
        fetch_beside(ahead);
        if (!two)
            continue;
        TILE_LOAD_PAST_L1(7, v[g].data + at + TILE_ROW_BYTES, v[g].stride);
        TILE_DOT_BF16(2, 4, 7);
        fetch_beside(ahead);
        TILE_DOT_BF16(3, 5, 7);
        fetch_beside(ahead);
    }
    STORE_SUMS_OF_STEPS(two, o, row);
}

/* The same for all steps. */
VF_NOINLINE void values_in_place(const uint16_t *a, const struct rows v[BLOCK_GROUPS], int groups,
                                 size_t steps, float *o, ptrdiff_t row, bool add,
                                 struct fetching *ahead)
{
    ptrdiff_t at = 0;
    for (; steps >= 2; steps -= 2, at += 2 * TILE_ROW_BYTES, o += 2 * STEP_DIMS)
        values_in_place_of_steps(true, a, v, at, groups, o, row, add, ahead);
    if (steps)
        values_in_place_of_steps(false, a, v, at, groups, o, row, add, ahead);
}
