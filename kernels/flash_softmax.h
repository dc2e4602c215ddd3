/*
 * flash_softmax.h: maximum, sum, rescaling and masks of kernel flash, in float32 for every type.
 *
 * The running maximum m is lazy (what FlashAttention 4, arXiv:2603.05451, does on GPUs): it
 * follows the scores only when one exceeds it by more than 8, so that weights stay below 2^8 and
 * results are rescaled a few times per row instead of once per block.  It never falls.  Each lane
 * decides for itself, but when the block's maximum is looked at depends on what all queries of the tile
 * see: with other neighbours a query may get other last bits.
 */
#ifndef ATTN_FLASH_SOFTMAX_H
#define ATTN_FLASH_SOFTMAX_H

#include "flash_tile.h"

#define FLASH_LAZY 8.0f

/* Scores less an m that they exceed by more have lost too many of their bits to it. */
#define FLASH_FAR 32.0f

/* No key seen yet.  Columns without queries are made to need nothing. */
static inline void flash_reset(struct flash_tile *t)
{
    for (int c = 0; c < FLASH_COLS; c++) {
        const bool used = c * VF_LANES < t->rows;
        t->m[c] = t->l[c] = vf_set1(0);
        t->limit[c] = vf_set1(used ? -INFINITY : INFINITY);
        t->floor[c] = vf_set1(used ? -INFINITY : EXP2_FLOOR);
    }
    t->started = false;
}

/* o *= factor, column by column. */
static inline void flash_rescale(const struct flash_tile *t, const vf factor[FLASH_COLS], int v_dim)
{
    for (float *o = t->o; o < t->o + (ptrdiff_t)v_dim * FLASH_TILE; o += FLASH_TILE)
        for (int c = 0; c < FLASH_COLS; c++)
            vf_store(o + c * VF_LANES, vf_load(o + c * VF_LANES) * factor[c]);
}

/*
 * Lets m follow top, the maximum of new scores less m.  Returns what has still to be subtracted
 * from these scores, in shift, or NULL if that is nothing and none of them is below EXP2_FLOOR.
 *
 * The difference of the rounded maxima is what is subtracted, so that old and new weights are
 * relative to the same m.  Before a lane's first key m is 0 and l and o are 0 or unset; its first
 * score may lie anywhere, and the factor must not overflow.  *far: the scores are to be made anew,
 * less the new m, because the old one was so far below them that little is left of them.
 */
static inline const vf *flash_raise(struct flash_tile *t, const vf top[FLASH_COLS],
                                    vf shift[FLASH_COLS], int v_dim, bool *far)
{
    *far = false;
    vi grows = {0}, general = {0};
    for (int c = 0; c < FLASH_COLS; c++) {
        grows |= top[c] > t->limit[c];
        general |= t->floor[c] < vf_set1(EXP2_FLOOR);
    }
    if (!vi_any(grows | general))
        return NULL;
    vf factor[FLASH_COLS];
    for (int c = 0; c < FLASH_COLS; c++) {
        const vi up = top[c] > t->limit[c];
        const vf m = vf_select(up, t->m[c] + top[c], t->m[c]);
        shift[c] = m - t->m[c];
        *far |=
            vi_any((vi)(shift[c] > vf_set1(FLASH_FAR)) & (vi)(t->limit[c] == vf_set1(FLASH_LAZY)));
        factor[c] = exp2_any(-vf_max(shift[c], vf_set1(0)));
        t->m[c] = m;
        t->l[c] *= factor[c];
        t->limit[c] = vf_select(up, vf_set1(FLASH_LAZY), t->limit[c]);
        t->floor[c] = vf_select(up, vf_set1(EXP2_FLOOR), t->floor[c]);
    }
    if (t->started && vi_any(grows))
        flash_rescale(t, factor, v_dim);
    return shift;
}

/* ---- masks ----------------------------------------------------------------------------------- */

/* Lanes of a column that see row 0, 1, ... of a block whose first key is `first`. */
struct flash_lanes {
    vi lo, hi;
};

static inline struct flash_lanes flash_lanes(const struct group_block *column, ptrdiff_t first)
{
    struct flash_lanes lanes;
    for (int i = 0; i < VF_LANES; i++) {
        struct attn_range seen = {first, first + FLASH_KEYS};
        if ((size_t)i < column->rows)
            seen = group_visible(column, (size_t)i);
        const ptrdiff_t lo = seen.lo - first, hi = seen.hi - first;
        lanes.lo[i] = (int32_t)(lo < 0 ? 0 : lo > FLASH_KEYS ? FLASH_KEYS : lo);
        lanes.hi[i] = (int32_t)(hi < 0 ? 0 : hi > FLASH_KEYS ? FLASH_KEYS : hi);
    }
    return lanes;
}

static inline vi flash_sees(const struct flash_lanes *lanes, int row)
{
    const vi j = row - (vi){0};
    return (vi)(lanes->lo <= j) & (vi)(j < lanes->hi);
}

/* Puts masked scores of rows [from, to) at the floor; raises top to the others. */
static inline void flash_mask(const struct flash_block *block, const struct flash_tile *t,
                              const struct flash_part *part, int from, int to, vf top[FLASH_COLS])
{
    if (from >= to)
        return;
    for (int c = part->col; c < part->col + part->cols; c++) {
        const struct flash_lanes lanes = flash_lanes(&t->column[c], block->first);
        float *s = block->s + (ptrdiff_t)from * FLASH_TILE + c * VF_LANES;
        for (int j = from; j < to; j++, s += FLASH_TILE) {
            const vf x = vf_select(flash_sees(&lanes, j), vf_load(s), t->floor[c]);
            top[c] = vf_max(x, top[c]);
            vf_store(s, x);
        }
    }
}

/*
 * o += weights * V of rows [from, to), lane by lane only where the query sees the key: a masked
 * key has weight 0, which times NaN or infinity would be NaN.  Slow, and rarely needed.
 */
static inline void flash_values_guarded(const struct flash_block *block, struct flash_tile *t,
                                        const struct flash_part *part, int from, int to)
{
    if (from >= to)
        return;
    for (int c = part->col; c < part->col + part->cols; c++) {
        const struct flash_lanes lanes = flash_lanes(&t->column[c], block->first);
        for (int j = from; j < to; j++) {
            const vi sees = flash_sees(&lanes, j);
            const vf p = block->job->type->weight(block, j, c);
            for (int d = 0; d < block->job->v_dim; d++) {
                float *o = t->o + (ptrdiff_t)d * FLASH_TILE + c * VF_LANES;
                const vf old = vf_load(o);
                const vf v = vf_set1(block->job->type->value(block, j, d));
                vf_store(o, vf_select(sees, p * v + old, old));
            }
        }
    }
}

#endif
