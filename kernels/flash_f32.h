/*
 * flash_f32.h: kernel flash in float32: the two matrix products and the exponentials between them.
 *
 * K and V are read where they lie, one scalar broadcast at a time.
 */
#ifndef ATTN_FLASH_F32_H
#define ATTN_FLASH_F32_H

#include "flash_rows.h"
#include "flash_weigh.h"

/* ---- scores = K Q^T ------------------------------------------------------------------------ */

/* One dimension of the product: k[.][0] times a vector of queries, for `rows` keys. */
VF_INLINE void flash_scores_step(const int rows, const int cols, const float *k, ptrdiff_t k_stride,
                                 const float *q, vf acc[FLASH_ROWS][FLASH_COLS])
{
    vf b[FLASH_COLS];
    VF_UNROLL
    for (int c = 0; c < cols; c++)
        b[c] = vf_load(q + c * VF_LANES);
    VF_UNROLL
    for (int r = 0; r < rows; r++) {
        const vf x = vf_broadcast(k + r * k_stride);
        VF_UNROLL
        for (int c = 0; c < cols; c++)
            acc[r][c] = vf_fma(x, b[c], acc[r][c]);
    }
}

/* Scores of `rows` keys for `cols` vectors of queries. */
VF_INLINE void flash_scores(const int rows, const int cols, struct flash_scores_args a)
{
    vf acc[FLASH_ROWS][FLASH_COLS];
    flash_zero(rows, cols, acc);
    const float *k = a.k, *q = a.q;
    for (const float *end = k + a.dim; k < end; k++, q += FLASH_TILE)
        flash_scores_step(rows, cols, k, a.k_stride, q, acc);
    flash_scores_store(rows, cols, false, 1, &a.to, acc);
}

/* ---- results += V^T weights ---------------------------------------------------------------- */

struct flash_values_args {
    const float *v;
    ptrdiff_t v_stride;
    const float *p;
    int keys;
    float *o;
    bool fresh;
};

/* `rows` value dimensions for `cols` vectors of queries. */
VF_INLINE void flash_values(const int rows, const int cols, struct flash_values_args a)
{
    vf acc[FLASH_ROWS][FLASH_COLS];
    flash_results_load(rows, cols, a.o, a.fresh, acc);
    const float *v = a.v, *p = a.p;
    for (const float *end = p + a.keys * FLASH_TILE; p < end; p += FLASH_TILE, v += a.v_stride) {
        vf b[FLASH_COLS];
        VF_UNROLL
        for (int c = 0; c < cols; c++)
            b[c] = vf_load(p + c * VF_LANES);
        VF_UNROLL
        for (int r = 0; r < rows; r++) {
            const vf x = vf_broadcast(v + r);
            VF_UNROLL
            for (int c = 0; c < cols; c++)
                acc[r][c] = vf_fma(x, b[c], acc[r][c]);
        }
    }
    flash_results_store(rows, cols, a.o, acc);
}

FLASH_DEFINE(flash_scores, flash_scores_args)
FLASH_DEFINE(flash_values, flash_values_args)

static void flash_f32_scores(const struct flash_block *block, const struct flash_tile *t,
                             const struct flash_part *part, int from, int to, vf top[FLASH_COLS])
{
    static flash_scores_of *const shapes[][FLASH_COLS] = {FLASH_SHAPES(flash_scores)};
    flash_scores_rows(block, t, 1, part, from, to, top, shapes);
}

static void flash_f32_values(const struct flash_block *block, struct flash_tile *t,
                             const struct flash_part *part, int from, int to, bool fresh)
{
    static void (*const shapes[][FLASH_COLS])(const struct flash_values_args *) = {
        FLASH_SHAPES(flash_values)};
    const int col = part->col * VF_LANES;
    struct flash_values_args args = {
        .v = (const float *)block->v + from * block->v_stride,
        .v_stride = block->v_stride,
        .p = block->s + from * FLASH_TILE + col,
        .keys = to - from,
        .o = t->o + col,
        .fresh = fresh,
    };
    int d = 0;
    for (int h = 0; d < block->job->v_dim; h++)
        for (const int rows = flash_heights[h]; block->job->v_dim - d >= rows; d += rows) {
            shapes[h][part->cols - 1](&args);
            flash_ahead_fetch(block->ahead);
            args.v += rows;
            args.o += rows * FLASH_TILE;
        }
}

/* ---- weights = 2^scores -------------------------------------------------------------------- */

VF_INLINE void flash_weights(const int cols, const bool shifted, float *s, int keys,
                             const vf *shift, vf *l)
{
    vf sum[FLASH_COLS];
    VF_UNROLL
    for (int c = 0; c < cols; c++)
        sum[c] = vf_set1(0);
    for (const float *end = s + keys * FLASH_TILE; s < end; s += FLASH_TILE) {
        VF_UNROLL
        for (int c = 0; c < cols; c++) {
            const vf x = vf_load(s + c * VF_LANES);
            const vf p = shifted ? exp2_any(x - shift[c]) : exp2_above_floor(x);
            vf_store(s + c * VF_LANES, p);
            sum[c] += p;
        }
    }
    VF_UNROLL
    for (int c = 0; c < cols; c++)
        l[c] += sum[c];
}

static void flash_f32_weights(const struct flash_block *block, struct flash_tile *t,
                              const struct flash_part *part, const vf *shift)
{
    flash_weigh_part(block, t, part, shift, flash_weights);
}

/* ---- both at once -------------------------------------------------------------------------- */

/*
 * Scores of a whole register tile and, between its multiply-adds, the weights of the rows before it.
 *
 * Of an exponential's instructions only three need a multiplier; the others find theirs idle while
 * the product keeps the multipliers busy, if they are spread thinly.
 */
VF_INLINE void flash_scores_weights(struct flash_scores_args a, vf sum[FLASH_COLS])
{
    vf acc[FLASH_ROWS][FLASH_COLS];
    flash_zero(FLASH_ROWS, FLASH_COLS, acc);
    const ptrdiff_t each = a.dim / (FLASH_ROWS * FLASH_COLS);
    const float *k = a.k, *q = a.q, *end = k;
    float *p = a.to.s - FLASH_ROWS * FLASH_TILE;
    do {
        VF_UNROLL
        for (int c = 0; c < FLASH_COLS; c++, p += VF_LANES) {
            const vf x = exp2_above_floor(vf_load(p));
            vf_store(p, x);
            sum[c] += x;
            for (end += each; k < end; k++, q += FLASH_TILE)
                flash_scores_step(FLASH_ROWS, FLASH_COLS, k, a.k_stride, q, acc);
        }
    } while (p < a.to.s);
    for (end = (const float *)a.k + a.dim; k < end; k++, q += FLASH_TILE)
        flash_scores_step(FLASH_ROWS, FLASH_COLS, k, a.k_stride, q, acc);
    flash_scores_store(FLASH_ROWS, FLASH_COLS, false, 1, &a.to, acc);
}

static bool flash_f32_weigh(const struct flash_block *block, struct flash_tile *t)
{
    return flash_weigh(block, t, 1, flash_scores_full_2, flash_scores_weights, flash_weights);
}

static bool flash_f32_finite(const struct flash_block *block, int from, int to)
{
    /* x * 0 is NaN exactly for infinity and NaN, and NaN survives a sum */
    const ptrdiff_t stride = block->v_stride;
    const int dim = block->job->v_dim;
    vf sum = {0};
    float rest = 0;
    for (const float *v = (const float *)block->v + from * stride; from < to; from++, v += stride) {
        int d = 0;
        for (; d + VF_LANES <= dim; d += VF_LANES)
            sum += vf_load(v + d) * vf_set1(0);
        for (; d < dim; d++)
            rest += v[d] * 0;
    }
    return rest == 0 && !vi_any((vi)(sum != vf_set1(0)));
}

static float flash_f32_value(const struct flash_block *block, int j, int d)
{
    return ((const float *)block->v)[j * block->v_stride + d];
}

static vf flash_f32_weight(const struct flash_block *block, int j, int column)
{
    return vf_load(block->s + j * FLASH_TILE + column * VF_LANES);
}

/* Four lanes have too few registers beside the tile: slower by 14 % there. */
#define FLASH_WEIGH (VF_LANES >= 8 ? flash_f32_weigh : NULL)

static const struct flash_type flash_f32 = {
    .pair = 1,
    .load = flash_load,
    .scores = flash_f32_scores,
    .weights = flash_f32_weights,
    .weigh = FLASH_WEIGH,
    .values = flash_f32_values,
    .finite = flash_f32_finite,
    .value = flash_f32_value,
    .weight = flash_f32_weight,
    .store = flash_store,
};

#endif
