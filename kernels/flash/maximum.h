/*
 * maximum.h: part of kernel flash: the running maximum of a tile's scores.
 *
 * m is lazy (what FlashAttention 4, arXiv:2603.05451, does on GPUs): it follows the scores only when
 * one exceeds it by more than 8, so that weights stay below 2^8 and results are rescaled a few times
 * per row instead of once per block.  It never falls.  Each lane decides for itself, but the tile decides
 * after how many keys scores are compared with m: the other queries of its tile may change the last bits
 * of a query's result.
 */
#pragma once

#include <math.h>

#include "shared/exp2.h"
#include "flash_tile.h"

#define LAZY_LIMIT 8.0f

/* Scores that exceed m by more lose too many bits in the subtraction. */
#define FAR_LIMIT 32.0f

/* If a score exceeds m by more than this, all earlier weights are 0 in float32 relative to the new m. */
#define FORGET_LIMIT 256.0f

/* LAZY_LIMIT for weights that are made before m rises: a lane's sum may be as large for each key, 2^LAZY_LIMIT,
 * as if each score were compared. */
#define WEIGHTS_LIMIT 256.0f

/* No key seen yet.  Columns without queries never ask for m to rise. */
static inline void tile_reset(struct tile *t)
{
    for (int c = 0; c < FLASH_COLS; c++) {
        const bool used = c * VF_LANES < t->rows;
        t->m[c] = t->l[c] = vf_set1(0);
        t->limit[c] = vf_set1(used ? -INFINITY : INFINITY);
        t->floor[c] = vf_set1(used ? -INFINITY : EXP2_FLOOR);
    }
    t->started = false;
}

/* Whether some lane has seen no key yet, so that its scores may lie below EXP2_FLOOR. */
static inline bool tile_has_new_lane(const struct tile *t)
{
    vi fresh = {0};
    for (int c = 0; c < FLASH_COLS; c++)
        fresh |= (vi)(t->floor[c] < vf_set1(EXP2_FLOOR));
    return vi_any(fresh);
}

/* Whether any score exceeds the limit of its lane. */
static inline bool tile_exceeded(const struct tile *t, const vf top[FLASH_COLS])
{
    vi exceeded = {0};
    for (int c = 0; c < FLASH_COLS; c++)
        exceeded |= (vi)(top[c] > t->limit[c]);
    return vi_any(exceeded);
}

/* o *= factor, column by column. */
static inline void tile_rescale(const struct tile *t, const vf factor[FLASH_COLS], int v_dim)
{
    for (float *o = t->o; o < t->o + (ptrdiff_t)v_dim * FLASH_TILE; o += FLASH_TILE)
        for (int c = 0; c < FLASH_COLS; c++)
            vf_store(o + c * VF_LANES, vf_load(o + c * VF_LANES) * factor[c]);
}

/*
 * Lets m follow top, the maximum of new scores less m.  Returns, in shift, what must still be subtracted
 * from these scores; NULL if nothing must and none of them is below EXP2_FLOOR.
 *
 * The difference of the rounded maxima is what is subtracted, so that old and new weights are relative to
 * the same m.  Before a lane's first key m is 0 and l and o are 0 or unset; its first score may lie
 * anywhere, and the factor must not overflow.  *far: the scores are to be made anew, less the new m,
 * because the old one was so far below them that little is left of them.  Where it was so far below that
 * nothing is left of its weights, the lane begins anew: the sum of m and top is rounded, from scores of
 * 2^30 on by more than any exponent of a weight.
 */
static inline const vf *tile_raise(struct tile *t, const vf top[FLASH_COLS], vf shift[FLASH_COLS],
                                   int v_dim, bool *far)
{
    *far = false;
    vi grows = {0}, fresh = {0};
    for (int c = 0; c < FLASH_COLS; c++) {
        grows |= top[c] > t->limit[c];
        fresh |= t->floor[c] < vf_set1(EXP2_FLOOR);
    }
    if (!vi_any(grows | fresh))
        return NULL;
    vf factor[FLASH_COLS];
    for (int c = 0; c < FLASH_COLS; c++) {
        const vi up = top[c] > t->limit[c], known = (vi)(t->limit[c] == vf_set1(LAZY_LIMIT));
        const vf m = vf_select(up, t->m[c] + top[c], t->m[c]);
        shift[c] = m - t->m[c];
        const vi forgets = (vi)(shift[c] > vf_set1(FORGET_LIMIT)) & known;
        *far |= vi_any((vi)(shift[c] > vf_set1(FAR_LIMIT)) & known);
        factor[c] = exp2_any(-vf_max(shift[c], vf_set1(0)));
        t->m[c] = vf_select(forgets, vf_set1(0), m);
        t->l[c] *= factor[c];
        t->limit[c] =
            vf_select(forgets, vf_set1(-INFINITY), vf_select(up, vf_set1(LAZY_LIMIT), t->limit[c]));
        t->floor[c] =
            vf_select(forgets, vf_set1(-INFINITY), vf_select(up, vf_set1(EXP2_FLOOR), t->floor[c]));
    }
    if (t->started && vi_any(grows))
        tile_rescale(t, factor, v_dim);
    return shift;
}

/* Lets m follow top, the maximum of scores themselves, as tile_raise() does, where they exceed it by more
 * than `limit`, if they were seen before.  Scores stay as they are: only m has still to be subtracted.  Old
 * weights are to be multiplied by `factor`. */
static inline void tile_follow(struct tile *t, const vf top[FLASH_COLS], float limit, float unit,
                               int v_dim, vf factor[FLASH_COLS])
{
    vi grows = {0};
    for (int c = 0; c < FLASH_COLS; c++) {
        /* Limits are exponents of two.  The difference times unit would be one, too, but overflows where
         * scores are as low as a float can be. */
        const vf known = vf_set1(limit / unit);
        const vf least = vf_select((vi)(t->limit[c] == vf_set1(LAZY_LIMIT)), known, t->limit[c]);
        const vi up = (vi)(top[c] - t->m[c] > least);
        const vf m = vf_select(up, top[c], t->m[c]);
        factor[c] = exp2_any(-vf_max(m - t->m[c], vf_set1(0)) * unit);
        grows |= up;
        t->m[c] = m;
        t->l[c] *= factor[c];
        t->limit[c] = vf_select(up, vf_set1(LAZY_LIMIT), t->limit[c]);
        t->floor[c] = vf_select(up, vf_set1(EXP2_FLOOR), t->floor[c]);
    }
    if (t->started && vi_any(grows))
        tile_rescale(t, factor, v_dim);
}
