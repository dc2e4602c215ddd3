/*
 * products_bf16.h: part of kernel flash: the arithmetic in bfloat16 with the dot product of pairs, for
 * variant avx512_bf16; matrices.h is neon_bf16's.
 *
 * A lane of 32 bits holds two neighbouring elements of the dimension that is summed over.  Along
 * D, for the scores, they are neighbours in K and Q already.  Along the keys, for the results,
 * weights are rounded and joined two rows at a time, and V is packed (bf16_operands.h).  The scale
 * multiplies the float32 scores.
 *
 * Defines what products.h lists, as products_f32.h does for the other variants.
 */
#ifndef ATTN_FLASH_PRODUCTS_BF16_H
#define ATTN_FLASH_PRODUCTS_BF16_H

#include "bf16_operands.h"

#define FLASH_DTYPES ATTN_BIT(ATTN_BF16)
#define FLASH_KV_DTYPES 0 /* int8 times its scale is no bf16: variants of float32 compute that */
#define FLASH_COMPUTE ATTN_BF16
#define FLASH_SPECULATES 1

typedef uint16_t key_element; /* of K, as it is multiplied */

/* ---- scores = K Q^T -------------------------------------------------------------------------- */

/* The pair at p in every lane. */
VF_INLINE vi bf16_pair(const uint16_t *p)
{
    int32_t pair;
    memcpy(&pair, p, sizeof pair);
    return pair - (vi){0};
}

/* Two dimensions of the product for `rows` keys and `cols` vectors of queries. */
VF_INLINE void score_step(const int rows, const int cols, const uint16_t *k, ptrdiff_t k_stride,
                          const float *q, vf acc[FLASH_HIGHEST][FLASH_COLS])
{
    vi b[FLASH_COLS];
    VF_UNROLL
    for (int c = 0; c < cols; c++)
        b[c] = bf16_load(q + c * VF_LANES);
    VF_UNROLL
    for (int r = 0; r < rows; r++) {
        const vi x = bf16_pair(k + r * k_stride);
        VF_UNROLL
        for (int c = 0; c < cols; c++)
            acc[r][c] = bf16_dot(x, b[c], acc[r][c]);
    }
}

VF_INLINE void score_tile(const int rows, const int cols, struct score_args a)
{
    vf acc[FLASH_HIGHEST][FLASH_COLS];
    clear_sums(rows, cols, acc);
    const uint16_t *k = a.k;
    const float *q = a.q;
    for (const uint16_t *end = (const uint16_t *)a.k + 2 * a.dim; k < end; k += 2, q += FLASH_TILE)
        score_step(rows, cols, k, a.k_stride, q, acc);
    scale_scores(rows, cols, a.scale, acc);
    store_scores(rows, cols, &a.to, acc);
}

/* ---- weights = 2^scores ---------------------------------------------------------------------- */

/* The weights of a row and, where `two`, of the next, joined and stored in place of the first.
 * Returns their sum. */
VF_INLINE vf exponentials_of_two(const enum exponent kind, bool two, float *s, const vf *shift,
                                 float unit)
{
    const vf a = exponential(kind, vf_load(s), shift, unit);
    const vf b = two ? exponential(kind, vf_load(s + FLASH_TILE), shift, unit) : vf_set1(0);
    vf_store(s, (vf)bf16_join(a, b));
    return a + b;
}

/* Each two rows of scores become one row of joined weights, stored in the first.  A last row
 * without a second is joined with zeros. */
VF_INLINE void exponentials(const int cols, const enum exponent kind, float *s, int keys,
                            const vf *shift, float unit, vf *l)
{
    vf sum[FLASH_COLS];
    VF_UNROLL
    for (int c = 0; c < cols; c++)
        sum[c] = vf_set1(0);
    for (; keys > 0; keys -= 2, s += 2 * FLASH_TILE) {
        VF_UNROLL
        for (int c = 0; c < cols; c++)
            sum[c] += exponentials_of_two(kind, keys > 1, s + c * VF_LANES, shift + c, unit);
    }
    VF_UNROLL
    for (int c = 0; c < cols; c++)
        l[c] += sum[c];
}

/* The exponentials are spread between the products as those of products_f32.h are. */
VF_INLINE void score_and_exp(struct score_args a, vf sum[FLASH_COLS])
{
    vf acc[FLASH_HIGHEST][FLASH_COLS];
    clear_sums(FLASH_ROWS, FLASH_COLS, acc);
    const ptrdiff_t each = 2 * (a.dim / (FLASH_ROWS / 2 * FLASH_COLS));
    const uint16_t *k = a.k, *end = k;
    const float *q = a.q;
    for (float *p = a.to.s - FLASH_ROWS * FLASH_TILE; p < a.to.s; p += 2 * FLASH_TILE) {
        VF_UNROLL
        for (int c = 0; c < FLASH_COLS; c++) {
            sum[c] += exponentials_of_two(EXPONENT_READY, true, p + c * VF_LANES, sum, 1);
            for (end += each; k < end; k += 2, q += FLASH_TILE)
                score_step(FLASH_ROWS, FLASH_COLS, k, a.k_stride, q, acc);
        }
    }
    for (end = (const uint16_t *)a.k + 2 * a.dim; k < end; k += 2, q += FLASH_TILE)
        score_step(FLASH_ROWS, FLASH_COLS, k, a.k_stride, q, acc);
    scale_scores(FLASH_ROWS, FLASH_COLS, a.scale, acc);
    store_scores(FLASH_ROWS, FLASH_COLS, &a.to, acc);
}

/* ---- results += V^T weights ------------------------------------------------------------------ */

VF_INLINE const void *first_value(const struct block *block, int from)
{
    return (const uint16_t *)block->v + from * BF16_PANEL;
}

VF_INLINE const void *value_column(const void *first, ptrdiff_t v_stride, int d)
{
    return (const uint16_t *)first + in_panels(v_stride, d);
}

/* What a pair of keys adds to `rows` value dimensions for `cols` vectors of queries. */
VF_INLINE void value_step(const int rows, const int cols, const uint16_t *v, const float *p,
                          vf acc[FLASH_HIGHEST][FLASH_COLS])
{
    vf b[FLASH_COLS];
    VF_UNROLL
    for (int c = 0; c < cols; c++)
        b[c] = vf_load(p + c * VF_LANES);
    VF_UNROLL
    for (int r = 0; r < rows; r++) {
        const vi x = bf16_pair(v + 2 * r);
        VF_UNROLL
        for (int c = 0; c < cols; c++)
            acc[r][c] = bf16_dot(x, (vi)b[c], acc[r][c]);
    }
}

VF_INLINE void value_tile(const int rows, const int cols, struct value_args a)
{
    vf acc[FLASH_HIGHEST][FLASH_COLS];
    clear_sums(rows, cols, acc);
    const uint16_t *v = a.v;
    const float *p = a.p, *const end = p + a.steps * 2 * FLASH_TILE;
    for (; p < end; p += 2 * FLASH_TILE, v += 2 * BF16_PANEL)
        value_step(rows, cols, v, p, acc);
    add_results(rows, cols, &a, acc);
}

#endif
