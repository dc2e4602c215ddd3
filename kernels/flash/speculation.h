/*
 * speculation.h: part of kernel flash: weights of a block that are made before all of its scores are known.
 *
 * A block that all queries see whole nearly never raises m by more than its limit.  So each score becomes a
 * weight at once, relative to the m of earlier keys or of the first rows of this block; if one is too large, m
 * is raised meanwhile, or the block begun again.
 */
#pragma once

#include "maximum.h"
#include "strip_products.h"

#if FLASH_SPECULATES

/*
 * A tile's first keys: m becomes their maximum, and the scores of these FLASH_ROWS rows, with top,
 * are made relative to it.  (A margin above it would make m rise less often, but make all weights
 * smaller, and products of theirs with subnormal values would lose their last bits.)  A tile that
 * has seen keys keeps its m.  False where m is still not known (scores that are NaN or -inf), or is
 * so low that it has to rise.
 */
static inline bool speculate_from(const struct block *block, struct tile *t, vf top[FLASH_COLS])
{
    if (!tile_has_new_lane(t))
        return !tile_exceeded(t, top);
    vf shifts[FLASH_COLS];
    bool far;
    const vf *shift = tile_raise(t, top, shifts, block->job->v_dim, &far);
    for (int c = 0; shift && c < FLASH_COLS; c++) {
        top[c] -= shift[c];
        for (float *s = block->s + c * VF_LANES; s < block->s + FLASH_ROWS * FLASH_TILE;
             s += FLASH_TILE)
            vf_store(s, vf_at_least(t->floor[c], vf_load(s) - shift[c]));
    }
    return !far && !(shift && tile_has_new_lane(t));
}

/*
 * A score of the FLASH_ROWS rows at `s` exceeds its limit: lets m rise, and makes relative to the
 * new one these scores, with top, and the float32 weights of the rows before, with their sum.
 * False where the scores have to be made anew.
 */
static inline bool raise_meanwhile(const struct block *block, struct tile *t, float *s,
                                   vf top[FLASH_COLS], vf sum[FLASH_COLS])
{
    vf shifts[FLASH_COLS];
    bool far;
    const vf *shift = tile_raise(t, top, shifts, block->job->v_dim, &far);
    for (int c = 0; shift && c < FLASH_COLS; c++) {
        const vf factor = exp2_any(-vf_max(shift[c], vf_set1(0)));
        top[c] -= shift[c];
        sum[c] *= factor;
        float *at = block->s + c * VF_LANES;
        for (; at < s; at += FLASH_TILE)
            vf_store(at, vf_load(at) * factor);
        for (; at < s + FLASH_ROWS * FLASH_TILE; at += FLASH_TILE)
            vf_store(at, vf_at_least(t->floor[c], vf_load(at) - shift[c]));
    }
    return !far;
}

#if VF_FACTOR_IN_LANE
#define EXP_STACK \
    (2 * FLASH_STACK) /* register tiles of a call: each saves and restores registers */

/* Scores of a whole register tile, less m, become weights in registers; sum grows by them.  False where one
 * exceeds its limit: they are stored as scores. */
VF_INLINE bool score_then_exp(const struct score_args *a, vf sum[FLASH_COLS])
{
    vf x[FLASH_HIGHEST][FLASH_COLS];
    vf top[2] = {vf_set1(-INFINITY),
                 vf_set1(-INFINITY)}; /* as a maximum waits for the one before it */
    score_sums(FLASH_ROWS, FLASH_COLS, a, x);
    VF_UNROLL
    for (int c = 0; c < FLASH_COLS; c++) {
        const vf m = a->to.m[c];
        VF_UNROLL
        for (int r = 0; r < FLASH_ROWS; r++) {
            x[r][c] = vf_at_least(vf_set1(EXP2_FLOOR), x[r][c] - m);
            top[r % 2] = vf_max(x[r][c], top[r % 2]);
        }
    }
    if (vf_any_above(vf_max(top[0], top[1]), LAZY_LIMIT)) {
        store_results(FLASH_ROWS, FLASH_COLS, a->to.s, x);
        return false;
    }
    store_weights_of(x, a->to.s, sum);
    return true;
}

/* The same of some register tiles, until one has such a score; returns how many are weights. */
VF_NOINLINE int score_then_exp_stack(const struct score_args *args, int tiles, vf sum[FLASH_COLS])
{
    struct score_args a = *args;
    vf sums[FLASH_COLS];
    memcpy(sums, sum, sizeof sums);
    int done = 0;
    while (done < tiles && score_then_exp(&a, sums)) {
        a.k = (const key_element *)a.k + FLASH_ROWS * a.k_stride;
        a.to.s += FLASH_ROWS * FLASH_TILE;
        done++;
    }
    memcpy(sum, sums, sizeof sums);
    return done;
}

/* Maxima of the FLASH_ROWS rows of scores at s. */
static inline void find_top(const float *s, vf top[FLASH_COLS])
{
    for (int c = 0; c < FLASH_COLS; c++) {
        top[c] = vf_set1(-INFINITY);
        for (int r = 0; r < FLASH_ROWS; r++)
            top[c] = vf_max(vf_load(s + r * FLASH_TILE + c * VF_LANES), top[c]);
    }
}

/*
 * Scores and weights of a block that all queries see whole, in whole register tiles, with l.  What an
 * exponential does takes the pipes of the multiply-adds, so that nothing is gained by doing both at once; but
 * scores that are made weights where they are need not be stored.  If they make m rise, weights in float32
 * that exist already are scaled; joined ones cannot be.  False: as below.
 */
VF_NOINLINE bool score_and_exp_block(const struct block *block, struct tile *t)
{
    vf top[FLASH_COLS] = {vf_set1(-INFINITY), vf_set1(-INFINITY)}, sum[FLASH_COLS] = {{0}};
    struct score_args args = scores_from(block, t, 0, 0, relative_to(t, top));
    int left = block->keys / FLASH_ROWS;
    if (tile_has_new_lane(t)) {
        score_full_2(&args);
        if (!speculate_from(block, t, top))
            return false;
        exponentials(FLASH_COLS, EXPONENT_READY, args.to.s, FLASH_ROWS, t->m, 1, sum);
        scores_advance(block, FLASH_ROWS, &args);
        left--;
    }
    while (left > 0) {
        const int tiles = left < EXP_STACK ? left : EXP_STACK;
        for (int i = 0; i < tiles; i += FLASH_STACK)
            prefetch_share(block->prefetch);
        const int done = score_then_exp_stack(&args, tiles, sum);
        scores_advance(block, done * FLASH_ROWS, &args);
        left -= done;
        if (done == tiles)
            continue;
        find_top(args.to.s, top);
        if (PAIR > 1 || !raise_meanwhile(block, t, args.to.s, top, sum))
            return false;
        exponentials(FLASH_COLS, EXPONENT_READY, args.to.s, FLASH_ROWS, t->m, 1, sum);
        scores_advance(block, FLASH_ROWS, &args);
        left--;
    }
    for (int c = 0; c < FLASH_COLS; c++)
        t->l[c] += sum[c];
    return true;
}
#else
/*
 * Scores and weights of a block that all queries see whole, in whole register tiles, with l.  The
 * weights of a register tile's rows are made between the products of the next one's, before it is
 * known whether these scores make m rise (flash.c says what that gains).  If they do, weights in
 * float32 are scaled; those joined in pairs cannot be.  False: m was too low to go on with, and
 * nothing that counts has changed but m.  The block is then to be begun again.
 */
VF_NOINLINE bool score_and_exp_block(const struct block *block, struct tile *t)
{
    vf top[FLASH_COLS], sum[FLASH_COLS];
    for (int c = 0; c < FLASH_COLS; c++) {
        top[c] = vf_set1(-INFINITY);
        sum[c] = vf_set1(0);
    }
    struct score_args args = scores_from(block, t, 0, 0, relative_to(t, top));
    score_full_2(&args);
    if (!speculate_from(block, t, top))
        return false;
    for (int done = FLASH_ROWS; done < block->keys; done += FLASH_ROWS) {
        prefetch_share(block->prefetch);
        scores_advance(block, FLASH_ROWS, &args);
        score_and_exp(args, sum);
        if (tile_exceeded(t, top) && (PAIR > 1 || !raise_meanwhile(block, t, args.to.s, top, sum)))
            return false;
    }
    prefetch_share(block->prefetch);
    exponentials(FLASH_COLS, EXPONENT_READY, args.to.s, FLASH_ROWS, t->m, 1, sum);
    for (int c = 0; c < FLASH_COLS; c++)
        t->l[c] += sum[c];
    return true;
}
#endif
#endif
