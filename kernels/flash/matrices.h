/*
 * matrices.h: part of kernel flash: the arithmetic in bfloat16 with products of matrices, for variant
 * neon_bf16.
 *
 * BFMMLA multiplies two keys by two queries over four dimensions, or two value dimensions by two queries over
 * four keys: 16 multiply-adds where BFDOT has 8, at the same rate on Neoverse V1, V2 and N2.  Its sums are 2
 * x 2 blocks: a finished register tile is split into rows of queries by one permutation per vector, and
 * joined again where results are added to.  Weights are rounded and joined four rows at a time.
 *
 * Defines what products.h lists, as products_f32.h and products_bf16.h do.
 */
#pragma once

#include "matrices_operands.h"
#include "register_sums.h"

/* A register tile of sums: two rows by two queries each. */
#define SUMS_ROWS ((FLASH_ROWS + 1) / 2)
#define SUMS_COLS (2 * FLASH_COLS)

/* Adds the products of `rows` matrices from a on, `stride` elements from one to the next, and those of the
 * columns at b. */
VF_INLINE void multiply(const int rows, const int cols, const uint16_t *a, ptrdiff_t stride,
                        const float *b, vf acc[SUMS_ROWS][SUMS_COLS])
{
    vf y[SUMS_COLS];
    VF_UNROLL
    for (int c = 0; c < 2 * cols; c++)
        y[c] = vf_load(b + c % 2 * FLASH_TILE + c / 2 * VF_LANES);
    VF_UNROLL
    for (int r = 0; r < (rows + 1) / 2; r++) {
        const vf x = (vf)bf16_load(a + r * stride);
        VF_UNROLL
        for (int c = 0; c < 2 * cols; c++)
            acc[r][c] = bf16_matrix(x, y[c], acc[r][c]);
    }
}

/* Sums become rows, each of one key or value dimension, and back. */
VF_INLINE void take_apart(const int rows, const int cols, vf acc[SUMS_ROWS][SUMS_COLS],
                          vf row[FLASH_HIGHEST][FLASH_COLS])
{
    VF_UNROLL
    for (int r = 0; r < rows; r++) {
        VF_UNROLL
        for (int c = 0; c < cols; c++)
            row[r][c] = bf16_halves(r % 2, acc[r / 2][2 * c], acc[r / 2][2 * c + 1]);
    }
}

VF_INLINE void put_together(const int rows, const int cols, vf row[FLASH_HIGHEST][FLASH_COLS],
                            vf acc[SUMS_ROWS][SUMS_COLS])
{
    VF_UNROLL
    for (int r = 0; r < rows; r += 2) {
        VF_UNROLL
        for (int c = 0; c < 2 * cols; c++)
            acc[r / 2][c] =
                bf16_halves(c % 2, row[r][c / 2], r + 1 < rows ? row[r + 1][c / 2] : vf_set1(0));
    }
}

/* ---- scores = K Q^T -------------------------------------------------------------------------- */

VF_INLINE void score_sums(const int rows, const int cols, const struct score_args *a,
                          vf row[FLASH_HIGHEST][FLASH_COLS])
{
    vf acc[SUMS_ROWS][SUMS_COLS];
    VF_UNROLL
    for (int r = 0; r < (rows + 1) / 2; r++) {
        VF_UNROLL
        for (int c = 0; c < 2 * cols; c++)
            acc[r][c] = vf_product(vf_set1(0));
    }
    const uint16_t *k = a->k;
    const float *q = a->q;
    const uint16_t *const end = k + a->dim * MATRIX;
    do
        multiply(rows, cols, k, 2 * a->k_stride, q, acc);
    while (q += 2 * FLASH_TILE, (k += MATRIX) < end);
    take_apart(rows, cols, acc, row);
    scale_scores(rows, cols, a->scale, row);
}

VF_INLINE void score_tile(const int rows, const int cols, struct score_args a)
{
    vf row[FLASH_HIGHEST][FLASH_COLS];
    score_sums(rows, cols, &a, row);
    store_scores(rows, cols, &a.to, row);
}

/* ---- weights = 2^scores ---------------------------------------------------------------------- */

/* The weights of four rows of a column, joined and stored as two.  Returns their sum. */
VF_INLINE vf store_four(const vf p[PAIR], float *s)
{
    const bf16_vector a = bf16_narrow(p[0], p[1]), b = bf16_narrow(p[2], p[3]);
    /* those of the even rows side by side, of the odd ones, and both */
    const bf16_vector even = BF16_ZIP(BF16_LOWER, a, b), odd = BF16_ZIP(BF16_UPPER, a, b);
    vf_store(s, (vf)BF16_ZIP(BF16_LOWER, even, odd));
    vf_store(s + FLASH_TILE, (vf)BF16_ZIP(BF16_UPPER, even, odd));
    return p[0] + p[1] + (p[2] + p[3]);
}

/* The same of up to four rows of scores, in place. */
VF_INLINE vf weights_of(const enum exponent kind, int rows, float *s, const vf *shift, float unit)
{
    vf p[PAIR];
    VF_UNROLL
    for (int i = 0; i < PAIR; i++)
        p[i] = i < rows ? exponential(kind, vf_load(s + i * FLASH_TILE), shift, unit) : vf_set1(0);
    return store_four(p, s);
}

VF_INLINE void store_weights_of(vf x[FLASH_HIGHEST][FLASH_COLS], float *s, vf sum[FLASH_COLS])
{
    VF_UNROLL
    for (int r = 0; r < FLASH_ROWS; r += PAIR) {
        VF_UNROLL
        for (int c = 0; c < FLASH_COLS; c++) {
            vf p[PAIR];
            VF_UNROLL
            for (int i = 0; i < PAIR; i++)
                p[i] = exp2_above_floor(x[r + i][c]);
            sum[c] += store_four(p, s + r * FLASH_TILE + c * VF_LANES);
        }
    }
}

/* ---- results += V^T weights ------------------------------------------------------------------ */

VF_INLINE void value_tile(const int rows, const int cols, struct value_args a)
{
    vf acc[SUMS_ROWS][SUMS_COLS], row[FLASH_HIGHEST][FLASH_COLS];
    clear_sums(rows, cols, row);
    put_together(rows, cols, row, acc);
    const uint16_t *v = a.v;
    const float *p = a.p, *const end = p + a.steps * PAIR * FLASH_TILE;
    do /* never none: else GCC 12 copies the sums before and after */
        multiply(rows, cols, v, MATRIX, p, acc);
    while (v += LINE, (p += PAIR * FLASH_TILE) < end);
    take_apart(rows, cols, acc, row);
    add_results(rows, cols, &a, row);
}
