/*
 * lanes.h: part of kernel flash: register tiles by multiply-adds that take a factor from a lane, on AArch64.
 *
 * A factor is an element of K or V; one load brings VF_FACTORS, where x86 loads and broadcasts each.
 * Cores with four multiply-add units have few dispatch slots left, so that loops over values take four
 * keys at a time to keep counters and branches rare (results/aarch64-model).
 */
#pragma once

#include "shared/simd_f16.h"
#include "shared/simd_factors.h"
#include "register_sums.h"

#if VF_FACTOR_IN_LANE

#if F16_PRODUCTS
#define KEY_FACTORS F16_FACTORS
#define load_key_factors f16_load_factors
#else
#define KEY_FACTORS VF_FACTORS
#define load_key_factors(p) vf_load_factors((const float *)(p))
#endif

/* acc += factor `lane` of x times one dimension of the queries in `cols` columns. */
VF_INLINE void multiply_queries(const int cols, const bool first, vf x, const int lane,
                                const float *q, vf acc[FLASH_COLS])
{
#if F16_PRODUCTS
    (void)first;
    const vf b = vf_load(q); /* halves: of both columns, or of one and something */
    acc[0] = f16_fma_lane(x, lane, b, acc[0]);
    if (cols == 2)
        acc[1] = f16_fma_lane_upper(x, lane, b, acc[1]);
#else
    VF_UNROLL
    for (int c = 0; c < cols; c++) {
        const vf b = vf_load(q + c * VF_LANES);
        acc[c] = first ? vf_multiply_lane(x, lane, b) : vf_fma_lane(x, lane, b, acc[c]);
    }
#endif
}

/* KEY_FACTORS steps of the product of keys `bytes` apart and queries; `first`: the sums are not set. */
VF_INLINE void score_lanes(const int rows, const int cols, const bool first, const void *k,
                           ptrdiff_t bytes, const float *q, vf acc[FLASH_HIGHEST][FLASH_COLS])
{
    /* Two pointers and three distances; left to itself GCC adds one up for each row. */
    const char *upper = k, *lower = upper + 4 * bytes;
    const ptrdiff_t third = 3 * bytes;
    vf x[FLASH_ROWS];
    VF_UNROLL
    for (int r = 0; r < rows; r++)
        x[r] = load_key_factors(
            (const key_element *)((r < 4 ? upper : lower) + (r % 4 == 3 ? third : r % 4 * bytes)));
    VF_UNROLL
    for (int lane = 0; lane < KEY_FACTORS; lane++) {
#if F16_PRODUCTS || VF_BYTES == 16
        VF_UNROLL
        for (int r = 0; r < rows; r++)
            multiply_queries(cols, first && lane == 0, x[r], lane, q + lane * FLASH_TILE, acc[r]);
#else
        (void)first; /* never, as FLASH_STACK is 1 */
        vf b[FLASH_COLS];
        VF_UNROLL
        for (int c = 0; c < cols; c++)
            b[c] = vf_load(q + lane * FLASH_TILE + c * VF_LANES);
        VF_UNROLL
        for (int r = 0; r < rows; r++) {
            VF_UNROLL
            for (int c = 0; c < cols; c++)
                acc[r][c] = vf_fma_lane(x[r], lane, b[c], acc[r][c]);
        }
#endif
    }
}

/* The first `dim` dimensions of a register tile, a multiple of KEY_FACTORS.  The first products set the sums if
 * there is a multiplication without an addition. */
VF_INLINE void score_fours(const int rows, const int cols, const struct score_args *a, int dim,
                           vf acc[FLASH_HIGHEST][FLASH_COLS])
{
    const ptrdiff_t bytes = a->k_stride * (ptrdiff_t)sizeof(key_element);
    const key_element *k = a->k, *end = k + dim;
    const float *q = a->q;
    if (F16_PRODUCTS || FLASH_STACK == 1 || dim == 0) {
        clear_sums(rows, cols, acc);
    } else {
        score_lanes(rows, cols, true, k, bytes, q, acc);
        k += KEY_FACTORS;
        q += KEY_FACTORS * FLASH_TILE;
    }
    for (; k < end; k += KEY_FACTORS, q += KEY_FACTORS * FLASH_TILE)
        score_lanes(rows, cols, false, k, bytes, q, acc);
}

/* What one key adds to `rows` value dimensions, a multiple of VF_FACTORS; b: its weights. */
VF_INLINE void value_lanes(const int rows, const int cols, const void *v, const vf b[FLASH_COLS],
                           vf acc[FLASH_HIGHEST][FLASH_COLS])
{
    VF_UNROLL
    for (int r = 0; r < rows; r += VF_FACTORS) {
        const vf x = vf_load_factors((const float *)v + r);
        VF_UNROLL
        for (int lane = 0; lane < VF_FACTORS; lane++) {
            VF_UNROLL
            for (int c = 0; c < cols; c++)
                acc[r + lane][c] = vf_fma_lane(x, lane, b[c], acc[r + lane][c]);
        }
    }
}

#endif
