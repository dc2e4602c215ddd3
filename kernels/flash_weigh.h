/*
 * flash_weigh.h: kernel flash: scores and weights of a block at once, for every element type.
 *
 * The weights of a register tile's rows are made between the products of the next one's, on trust that m
 * will not have to rise meanwhile (flash.c says what that gains).
 */
#ifndef ATTN_FLASH_WEIGH_H
#define ATTN_FLASH_WEIGH_H

#include "flash_scores.h"
#include "flash_softmax.h"

/* Whether any score exceeds the limit of its lane. */
static inline bool flash_exceeded(const struct flash_tile *t, const vf top[FLASH_COLS])
{
    vi exceeded = {0};
    for (int c = 0; c < FLASH_COLS; c++)
        exceeded |= (vi)(top[c] > t->limit[c]);
    return vi_any(exceeded);
}

/*
 * A tile's first keys: m becomes their maximum, and the scores of these FLASH_ROWS rows, with top, are
 * made relative to it.  (A maximum with a margin would hold more often, but weights that are all
 * small lose the last bits of subnormal values.)  A tile that has seen keys keeps its m.  False where
 * m is not known even so (scores that are NaN or -inf) or had better rise.
 */
static inline bool flash_weigh_begin(const struct flash_block *block, struct flash_tile *t,
                                     vf top[FLASH_COLS])
{
    vi general = {0};
    for (int c = 0; c < FLASH_COLS; c++)
        general |= (vi)(t->floor[c] < vf_set1(EXP2_FLOOR));
    if (!vi_any(general))
        return !flash_exceeded(t, top);
    vf shifts[FLASH_COLS];
    bool far;
    const vf *shift = flash_raise(t, top, shifts, block->job->v_dim, &far);
    general = (vi){0};
    for (int c = 0; shift && c < FLASH_COLS; c++) {
        general |= (vi)(t->floor[c] < vf_set1(EXP2_FLOOR));
        top[c] -= shift[c];
        for (float *s = block->s + c * VF_LANES; s < block->s + FLASH_ROWS * FLASH_TILE;
             s += FLASH_TILE)
            vf_store(s, vf_max(t->floor[c], vf_load(s) - shift[c]));
    }
    return !far && !vi_any(general);
}

/*
 * A score of the FLASH_ROWS rows at `s` exceeds its limit: lets m rise, and makes relative to the new one
 * these scores, with top, and the float32 weights of the rows before, with their sum.  False where
 * the scores have to be made anew.
 */
static inline bool flash_weigh_raise(const struct flash_block *block, struct flash_tile *t,
                                     float *s, vf top[FLASH_COLS], vf sum[FLASH_COLS])
{
    vf shifts[FLASH_COLS];
    bool far;
    const vf *shift = flash_raise(t, top, shifts, block->job->v_dim, &far);
    for (int c = 0; shift && c < FLASH_COLS; c++) {
        const vf factor = exp2_any(-vf_max(shift[c], vf_set1(0)));
        top[c] -= shift[c];
        sum[c] *= factor;
        float *at = block->s + c * VF_LANES;
        for (; at < s; at += FLASH_TILE)
            vf_store(at, vf_load(at) * factor);
        for (; at < s + FLASH_ROWS * FLASH_TILE; at += FLASH_TILE)
            vf_store(at, vf_max(t->floor[c], vf_load(at) - shift[c]));
    }
    return !far;
}

/* Scores of a whole register tile and the weights of the FLASH_ROWS rows before it. */
typedef void flash_both_of(struct flash_scores_args args, vf sum[FLASH_COLS]);

/* Weights of `keys` rows and `cols` columns, of scores less `shift` where `shifted`; l grows by their sums. */
typedef void flash_weights_of(const int cols, const bool shifted, float *s, int keys,
                              const vf *shift, vf *l);

/* The weigh() of a type.  Weights that are joined in pairs cannot be scaled: m may not rise there. */
VF_INLINE bool flash_weigh(const struct flash_block *block, struct flash_tile *t, const int pair,
                           flash_scores_of *scores, flash_both_of *both, flash_weights_of *weights)
{
    vf top[FLASH_COLS], sum[FLASH_COLS];
    for (int c = 0; c < FLASH_COLS; c++) {
        top[c] = vf_set1(-INFINITY);
        sum[c] = vf_set1(0);
    }
    struct flash_scores_args args = flash_scores_at(block, t, pair, 0, 0, top);
    scores(&args);
    if (!flash_weigh_begin(block, t, top))
        return false;
    for (int done = FLASH_ROWS; done < block->keys; done += FLASH_ROWS) {
        flash_ahead_fetch(block->ahead);
        flash_scores_advance(block, pair, FLASH_ROWS, &args);
        both(args, sum);
        if (flash_exceeded(t, top) &&
            (pair > 1 || !flash_weigh_raise(block, t, args.to.s, top, sum)))
            return false;
    }
    flash_ahead_fetch(block->ahead);
    weights(FLASH_COLS, false, args.to.s, FLASH_ROWS, t->m, sum);
    for (int c = 0; c < FLASH_COLS; c++)
        t->l[c] += sum[c];
    return true;
}

/* The weights() of a type. */
VF_INLINE void flash_weigh_part(const struct flash_block *block, struct flash_tile *t,
                                const struct flash_part *part, const vf *shift,
                                flash_weights_of *weights)
{
    float *s = block->s + part->from * FLASH_TILE + part->col * VF_LANES;
    const int keys = part->to - part->from;
    vf *l = t->l + part->col;
    if (part->cols == 1 && shift)
        weights(1, true, s, keys, shift + part->col, l);
    else if (part->cols == 1)
        weights(1, false, s, keys, t->m, l);
    else if (shift)
        weights(2, true, s, keys, shift, l);
    else
        weights(2, false, s, keys, t->m, l);
}

#endif
