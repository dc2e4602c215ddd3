/*
 * flash_bf16.h: kernel flash in bfloat16 with the dot product of pairs, vdpbf16ps.
 *
 * A lane of 32 bits holds two neighbouring elements of the dimension that is summed over.  Along
 * D, for the scores, they are neighbours in K and Q already.  Along the keys, for the results,
 * weights are rounded and joined two rows at a time, and V is packed once per block for all tiles
 * of a task: panels of BF16_PANEL value dimensions, in each panel one cache line of pairs per two
 * keys.  The scale multiplies the float32 scores, with the maximum's subtraction in one
 * instruction.
 */
#ifndef ATTN_FLASH_BF16_H
#define ATTN_FLASH_BF16_H

#include "flash_bf16_pack.h"
#include "flash_weigh.h"
#include "shared/simd_bf16.h"

/* The pair at p in every lane. */
VF_INLINE vi bf16_pair(const uint16_t *p)
{
    int32_t pair;
    memcpy(&pair, p, sizeof pair);
    return pair - (vi){0};
}

/* ---- scores = K Q^T ------------------------------------------------------------------------ */

/* Two dimensions of the product for `rows` keys and `cols` vectors of queries. */
VF_INLINE void bf16_scores_step(const int rows, const int cols, const uint16_t *k,
                                ptrdiff_t k_stride, const float *q, vf acc[FLASH_ROWS][FLASH_COLS])
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

/* Scores of `rows` keys for `cols` vectors of queries. */
VF_INLINE void bf16_scores(const int rows, const int cols, struct flash_scores_args a)
{
    vf acc[FLASH_ROWS][FLASH_COLS];
    flash_zero(rows, cols, acc);
    const uint16_t *k = a.k;
    const float *q = a.q;
    for (const uint16_t *end = k + 2 * a.dim; k < end; k += 2, q += FLASH_TILE)
        bf16_scores_step(rows, cols, k, a.k_stride, q, acc);
    flash_scores_store(rows, cols, true, a.scale, &a.to, acc);
}

/* ---- results += V^T weights ---------------------------------------------------------------- */

struct bf16_values_args {
    const uint16_t *v; /* within a panel */
    const float *p;    /* pairs, every other row of the block's s */
    int pairs;
    float *o;
    bool fresh;
};

/* `rows` value dimensions for `cols` vectors of queries. */
VF_INLINE void bf16_values(const int rows, const int cols, struct bf16_values_args a)
{
    vf acc[FLASH_ROWS][FLASH_COLS];
    flash_results_load(rows, cols, a.o, a.fresh, acc);
    const uint16_t *v = a.v;
    const float *p = a.p;
    for (const float *end = p + 2 * a.pairs * FLASH_TILE; p < end;
         p += 2 * FLASH_TILE, v += 2 * BF16_PANEL) {
        vi b[FLASH_COLS];
        VF_UNROLL
        for (int c = 0; c < cols; c++)
            b[c] = bf16_load(p + c * VF_LANES);
        VF_UNROLL
        for (int r = 0; r < rows; r++) {
            const vi x = bf16_pair(v + 2 * r);
            VF_UNROLL
            for (int c = 0; c < cols; c++)
                acc[r][c] = bf16_dot(x, b[c], acc[r][c]);
        }
    }
    flash_results_store(rows, cols, a.o, acc);
}

/* ---- register tiles ------------------------------------------------------------------------ */

FLASH_DEFINE(bf16_scores, flash_scores_args)
FLASH_DEFINE(bf16_values, bf16_values_args)

static void flash_bf16_scores(const struct flash_block *block, const struct flash_tile *t,
                              const struct flash_part *part, int from, int to, vf top[FLASH_COLS])
{
    static flash_scores_of *const shapes[][FLASH_COLS] = {FLASH_SHAPES(bf16_scores)};
    flash_scores_rows(block, t, 2, part, from, to, top, shapes);
}

static void flash_bf16_values(const struct flash_block *block, struct flash_tile *t,
                              const struct flash_part *part, int from, int to, bool fresh)
{
    static void (*const shapes[][FLASH_COLS])(const struct bf16_values_args *) = {
        FLASH_SHAPES(bf16_values)};
    const int col = part->col * VF_LANES;
    const uint16_t *panel = (const uint16_t *)block->v + from * BF16_PANEL;
    struct bf16_values_args args = {
        .p = block->s + from * FLASH_TILE + col,
        .pairs = (to - from + 1) / 2,
        .o = t->o + col,
        .fresh = fresh,
    };
    int d = 0;
    for (int h = 0; d < block->job->v_dim; h++)
        for (const int rows = flash_heights[h]; block->job->v_dim - d >= rows; d += rows) {
            args.v = panel + d / BF16_PANEL * block->v_stride + d % BF16_PANEL * 2;
            shapes[h][part->cols - 1](&args);
            flash_ahead_fetch(block->ahead);
            args.o += rows * FLASH_TILE;
        }
}

/* ---- weights = 2^scores -------------------------------------------------------------------- */

/* Lane i of the result: a's lane i, rounded, in the lower half and b's in the upper. */
VF_INLINE vi bf16_join(vf a, vf b)
{
    typedef int16_t v16 __attribute__((vector_size(VF_BYTES)));
    const v16 apart = (v16)_mm512_cvtne2ps_pbh(b, a); /* all of a, then all of b */
    return (vi)__builtin_shufflevector(apart, apart, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6,
                                       22, 7, 23, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14,
                                       30, 15, 31);
}

VF_INLINE vf bf16_weight(const bool shifted, const float *s, const vf *shift)
{
    return shifted ? exp2_any(vf_load(s) - *shift) : exp2_above_floor(vf_load(s));
}

/* The weights of a row and, where there is one, of the next, joined in the first one's place; their sum. */
VF_INLINE vf bf16_weigh_two(const bool shifted, bool two, float *s, const vf *shift)
{
    const vf a = bf16_weight(shifted, s, shift);
    const vf b = two ? bf16_weight(shifted, s + FLASH_TILE, shift) : vf_set1(0);
    vf_store(s, (vf)bf16_join(a, b));
    return a + b;
}

/* Weights of `keys` rows, two by two, in the first row of each two.  A last row alone is joined
 * with zeros. */
VF_INLINE void bf16_weights(const int cols, const bool shifted, float *s, int keys, const vf *shift,
                            vf *l)
{
    vf sum[FLASH_COLS];
    VF_UNROLL
    for (int c = 0; c < cols; c++)
        sum[c] = vf_set1(0);
    for (; keys > 0; keys -= 2, s += 2 * FLASH_TILE) {
        VF_UNROLL
        for (int c = 0; c < cols; c++)
            sum[c] += bf16_weigh_two(shifted, keys > 1, s + c * VF_LANES, shift + c);
    }
    VF_UNROLL
    for (int c = 0; c < cols; c++)
        l[c] += sum[c];
}

static void flash_bf16_weights(const struct flash_block *block, struct flash_tile *t,
                               const struct flash_part *part, const vf *shift)
{
    flash_weigh_part(block, t, part, shift, bf16_weights);
}

/* ---- both at once ---------------------------------------------------------------------------- */

/* Scores of a whole register tile and, between its products, the weights of the rows before it, as
 * flash_scores_weights() does in float32. */
VF_INLINE void bf16_scores_weights(struct flash_scores_args a, vf sum[FLASH_COLS])
{
    vf acc[FLASH_ROWS][FLASH_COLS];
    flash_zero(FLASH_ROWS, FLASH_COLS, acc);
    const ptrdiff_t each = 2 * (a.dim / (FLASH_ROWS / 2 * FLASH_COLS));
    const uint16_t *k = a.k, *end = k;
    const float *q = a.q;
    for (float *p = a.to.s - FLASH_ROWS * FLASH_TILE; p < a.to.s; p += 2 * FLASH_TILE) {
        VF_UNROLL
        for (int c = 0; c < FLASH_COLS; c++) {
            sum[c] += bf16_weigh_two(false, true, p + c * VF_LANES, sum);
            for (end += each; k < end; k += 2, q += FLASH_TILE)
                bf16_scores_step(FLASH_ROWS, FLASH_COLS, k, a.k_stride, q, acc);
        }
    }
    for (end = (const uint16_t *)a.k + 2 * a.dim; k < end; k += 2, q += FLASH_TILE)
        bf16_scores_step(FLASH_ROWS, FLASH_COLS, k, a.k_stride, q, acc);
    flash_scores_store(FLASH_ROWS, FLASH_COLS, true, a.scale, &a.to, acc);
}

static bool flash_bf16_weigh(const struct flash_block *block, struct flash_tile *t)
{
    return flash_weigh(block, t, 2, bf16_scores_full_2, bf16_scores_weights, bf16_weights);
}

static vf flash_bf16_weight(const struct flash_block *block, int j, int column)
{
    const vi pair = bf16_load(block->s + (j - j % 2) * FLASH_TILE + column * VF_LANES);
    return (vf)(j % 2 ? pair & (int32_t)0xffff0000 : pair << 16);
}

static const struct flash_type flash_bf16 = {
    .pair = 2,
    .pack = flash_bf16_pack,
    .load = flash_bf16_load,
    .scores = flash_bf16_scores,
    .weights = flash_bf16_weights,
    .weigh = flash_bf16_weigh,
    .values = flash_bf16_values,
    .finite = flash_bf16_finite,
    .value = flash_bf16_value,
    .weight = flash_bf16_weight,
    .store = flash_store,
};

#endif
