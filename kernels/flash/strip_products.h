/*
 * strip_products.h: part of kernel flash: scores, weights and results of a strip, one register tile after the
 * other.
 */
#pragma once

#include "register_tiles.h"

/* Bytes of `rows` rows of a block's K. */
VF_INLINE ptrdiff_t key_bytes(const struct block *block, int rows)
{
    return rows * block->k_stride * (ptrdiff_t)sizeof(key_element);
}

/* Before a register tile of so many steps: what its loop is to fetch, or, fetched at once, nothing. */
VF_INLINE struct fetch fetch_meanwhile(const struct block *block, int steps)
{
    if (FLASH_DIRECT)
        return prefetch_lines(block->prefetch, (size_t)steps / FETCH_STEPS);
    prefetch_share(block->prefetch);
    return (struct fetch){0};
}

/* The m that a tile's scores are relative to, and where their maximum goes. */
VF_INLINE struct score_target relative_to(const struct tile *t, vf top[FLASH_COLS])
{
    return (struct score_target){.m = t->m, .floor = t->floor, .top = top};
}

static const vf no_start[FLASH_COLS]; /* what scores begin at that are stored as they are */

/* For the scores from row `row` and column `col` on. */
VF_INLINE struct score_args scores_from(const struct block *block, const struct tile *t, int col,
                                        int row, struct score_target to)
{
    return (struct score_args){
        .k = (const char *)block->k + key_bytes(block, row),
        .k_stride = block->k_stride,
        .q = t->q + col * VF_LANES,
        .dim = (block->job->qk_dim + PAIR - 1) / PAIR,
        .scale = block->job->scale,
        .start = no_start,
        .to = {block->s + row * FLASH_TILE + col * VF_LANES, to.m + col, to.floor + col,
               to.top + col},
    };
}

/* For the scores `rows` further down. */
VF_INLINE void scores_advance(const struct block *block, int rows, struct score_args *args)
{
    args->k = (const char *)args->k + key_bytes(block, rows);
    args->to.s += rows * FLASH_TILE;
}

/* Scores of rows [from, to) for the strip's columns. */
VF_NOINLINE void score_rows(const struct block *block, const struct tile *t,
                            const struct strip *strip, int from, int to, struct score_target target)
{
    struct score_args args = scores_from(block, t, strip->col, from, target);
    for (int rows; from < to; from += rows) {
        const struct register_tile *tile = tile_of(to - from, strip->cols);
        rows = tile->rows;
        args.fetch = fetch_meanwhile(block, args.dim);
        tile->score[strip->cols - 1](&args);
        scores_advance(block, rows, &args);
    }
}

#if !FLASH_DIRECT
/* Scores of the strip become weights, 2^(score - shift), 2^score without shift; l grows by their
 * sums. */
VF_NOINLINE void exp_strip(const struct block *block, struct tile *t, const struct strip *strip,
                           const vf *shift)
{
    float *s = block->s + strip->from * FLASH_TILE + strip->col * VF_LANES;
    const int keys = strip->to - strip->from;
    vf *l = t->l + strip->col;
    if (strip->cols == 1 && shift)
        exponentials(1, EXPONENT_SHIFTED, s, keys, shift + strip->col, 1, l);
    else if (strip->cols == 1)
        exponentials(1, EXPONENT_READY, s, keys, t->m, 1, l);
    else if (shift)
        exponentials(2, EXPONENT_SHIFTED, s, keys, shift, 1, l);
    else
        exponentials(2, EXPONENT_READY, s, keys, t->m, 1, l);
}
#endif

/* Weights of unshifted scores are 2^((score - m) * unit). */
VF_NOINLINE void exp_strip_scaled(const struct block *block, struct tile *t,
                                  const struct strip *strip)
{
    const int keys = strip->to - strip->from, end = strip->col + strip->cols;
    const float unit = block->job->unit;
    for (int c = strip->col; c < end; c += 2) {
        float *s = block->s + strip->from * FLASH_TILE + c * VF_LANES;
        if (c + 1 == end)
            exponentials(1, EXPONENT_SCALED, s, keys, t->m + c, unit, t->l + c);
        else
            exponentials(2, EXPONENT_SCALED, s, keys, t->m + c, unit, t->l + c);
    }
}

/* o += weights * V of rows [from, to) for the strip's columns; `fresh`: o = that. */
VF_NOINLINE void add_values(const struct block *block, const struct tile *t,
                            const struct strip *strip, int from, int to, bool fresh)
{
    const int col = strip->col * VF_LANES;
    const void *first = first_value(block, from);
    if (from == to) {
        if (fresh) /* what the strip's columns hold is all that counts */
            memset(t->o, 0, (size_t)block->job->v_dim * FLASH_TILE * sizeof *t->o);
        return;
    }
    struct value_args args = {
        .v_stride = block->v_stride,
        .p = block->s + from * FLASH_TILE + col,
        .steps = (to - from + PAIR - 1) / PAIR,
        .o = t->o + col,
        .fresh = fresh,
    };
    for (int d = 0, rows; d < block->job->v_dim; d += rows) {
        const struct register_tile *tile = tile_of(block->job->v_dim - d, strip->cols);
        rows = tile->rows;
        args.v = value_column(first, args.v_stride, d);
        args.fetch = fetch_meanwhile(block, args.steps);
        tile->value[strip->cols - 1](&args);
        args.o += rows * FLASH_TILE;
    }
}
