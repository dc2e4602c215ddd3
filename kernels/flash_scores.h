/*
 * flash_scores.h: kernel flash: from products of K and Q to scores, for every element type.
 *
 * A lane of 32 bits of K or Q is one float or a `pair` of bf16, 1 or 2 elements.
 */
#ifndef ATTN_FLASH_SCORES_H
#define ATTN_FLASH_SCORES_H

#include "flash_tile.h"

/* Where products of K and Q become scores, and what they are measured by. */
struct flash_scores_to {
    float *s;
    const vf *m, *floor;
    vf *top;
};

/* Scores less m, not below the floor, for `rows` keys and `cols` vectors of queries; raises top.  m and
 * floor are copied first: for all the compiler knows, storing scores changes them in memory. */
VF_INLINE void flash_scores_store(const int rows, const int cols, const bool scaled, float scale,
                                  const struct flash_scores_to *to, vf acc[FLASH_ROWS][FLASH_COLS])
{
    VF_UNROLL
    for (int c = 0; c < cols; c++) {
        const vf m = to->m[c], floor = to->floor[c];
        vf top = to->top[c];
        VF_UNROLL
        for (int r = 0; r < rows; r++) {
            const vf x = vf_max(floor, scaled ? acc[r][c] * scale - m : acc[r][c] - m);
            vf_store(to->s + r * FLASH_TILE + c * VF_LANES, x);
            top = vf_max(x, top);
        }
        to->top[c] = top;
    }
}

/* What the scores of a register tile are made of. */
struct flash_scores_args {
    const void *k; /* its first key */
    ptrdiff_t k_stride;
    const float *q;
    int dim; /* lanes */
    float scale;
    struct flash_scores_to to;
};

/* Bytes of `rows` rows of a block's K. */
VF_INLINE ptrdiff_t flash_keys_bytes(const struct flash_block *block, const int pair, int rows)
{
    return rows * block->k_stride * (ptrdiff_t)sizeof(float) / pair;
}

/* For the scores from row `row` and column `col` on. */
VF_INLINE struct flash_scores_args flash_scores_at(const struct flash_block *block,
                                                   const struct flash_tile *t, const int pair,
                                                   int col, int row, vf top[FLASH_COLS])
{
    return (struct flash_scores_args){
        .k = (const char *)block->k + flash_keys_bytes(block, pair, row),
        .k_stride = block->k_stride,
        .q = t->q + col * VF_LANES,
        .dim = (block->job->qk_dim + pair - 1) / pair,
        .scale = block->job->scale,
        .to = {block->s + row * FLASH_TILE + col * VF_LANES, t->m + col, t->floor + col, top + col},
    };
}

/* For the scores `rows` further down. */
VF_INLINE void flash_scores_advance(const struct flash_block *block, const int pair, int rows,
                                    struct flash_scores_args *args)
{
    args->k = (const char *)args->k + flash_keys_bytes(block, pair, rows);
    args->to.s += rows * FLASH_TILE;
}

/* Scores of some rows for some columns, whose numbers are in the function's name. */
typedef void flash_scores_of(const struct flash_scores_args *args);

/* Scores of rows [from, to) for the part's columns, by register tiles from `shapes`. */
VF_INLINE void flash_scores_rows(const struct flash_block *block, const struct flash_tile *t,
                                 const int pair, const struct flash_part *part, int from, int to,
                                 vf top[FLASH_COLS], flash_scores_of *const shapes[][FLASH_COLS])
{
    struct flash_scores_args args = flash_scores_at(block, t, pair, part->col, from, top);
    for (int h = 0; from < to; h++)
        for (const int rows = flash_heights[h]; to - from >= rows; from += rows) {
            shapes[h][part->cols - 1](&args);
            flash_ahead_fetch(block->ahead);
            flash_scores_advance(block, pair, rows, &args);
        }
}

#endif
