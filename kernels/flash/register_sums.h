/*
 * register_sums.h: part of kernel flash: sums of a register tile: how they begin, and how they become scores,
 * weights or results.
 */
#pragma once

#include "shared/exp2.h"
#include "flash_tile.h"

VF_INLINE void clear_sums(const int rows, const int cols, vf acc[FLASH_HIGHEST][FLASH_COLS])
{
    VF_UNROLL
    for (int r = 0; r < rows; r++) {
        VF_UNROLL
        for (int c = 0; c < cols; c++)
#if VF_FACTOR_IN_LANE /* each by itself: GCC 12 copies one, which takes a turn of the multipliers */
            acc[r][c] = vf_product(vf_set1(0));
#else
            acc[r][c] = vf_set1(0);
#endif
    }
}

VF_INLINE void start_sums(const int rows, const int cols, const vf *start,
                          vf acc[FLASH_HIGHEST][FLASH_COLS])
{
    VF_UNROLL
    for (int r = 0; r < rows; r++) {
        VF_UNROLL
        for (int c = 0; c < cols; c++)
            acc[r][c] = start[c];
    }
}

/*
 * Products with unscaled queries become scores, each rounded before m is subtracted, as m is a rounded
 * score.  One FMA for both would leave m's rounding error, half an ulp, as the exponent of the largest
 * weight: from scores of 2^31 on that is more than exponents can be.
 */
VF_INLINE void scale_scores(const int rows, const int cols, float scale,
                            vf acc[FLASH_HIGHEST][FLASH_COLS])
{
    VF_UNROLL
    for (int r = 0; r < rows; r++) {
        VF_UNROLL
        for (int c = 0; c < cols; c++)
            acc[r][c] = vf_product(acc[r][c] * scale);
    }
}

/* Where products of K and Q become scores, and what they are compared with. */
struct score_target {
    float *s;
    const vf *m, *floor;
    vf *top;
};

/* Scores less m, not below the floor, for `rows` keys and `cols` vectors of queries; raises top.
 * m and floor are copied first, as storing scores might change them in memory for all the compiler
 * knows. */
VF_INLINE void store_scores(const int rows, const int cols, const struct score_target *to,
                            vf acc[FLASH_HIGHEST][FLASH_COLS])
{
    VF_UNROLL
    for (int c = 0; c < cols; c++) {
        const vf m = to->m[c], floor = to->floor[c];
        vf top = to->top[c];
#if VF_FACTOR_IN_LANE /* of pairs first: a maximum waits for the one before it */
        vf other = top;
        VF_UNROLL
        for (int r = 0; r < rows; r++) {
            const vf x = vf_at_least(floor, acc[r][c] - m);
            vf_store(to->s + r * FLASH_TILE + c * VF_LANES, x);
            if (r % 2 || r + 1 == rows)
                top = vf_max(vf_max(x, other), top);
            else
                other = x;
        }
#else
        VF_UNROLL
        for (int r = 0; r < rows; r++) {
            const vf x = vf_at_least(floor, acc[r][c] - m);
            vf_store(to->s + r * FLASH_TILE + c * VF_LANES, x);
            top = vf_max(x, top);
        }
#endif
        to->top[c] = top;
    }
}

/* How scores become exponents of two. */
enum exponent {
    EXPONENT_READY,   /* they are, and not below EXP2_FLOOR */
    EXPONENT_SHIFTED, /* when `shift` is subtracted */
    EXPONENT_SCALED   /* ... and the difference is multiplied by `unit` */
};

VF_INLINE vf exponential(const enum exponent kind, vf x, const vf *shift, float unit)
{
    return kind == EXPONENT_READY     ? exp2_above_floor(x)
           : kind == EXPONENT_SHIFTED ? exp2_any(x - *shift)
                                      : exp2_any((x - *shift) * unit);
}

/* What the scores of a register tile are made of. */
struct score_args {
    const void *k; /* its first key */
    ptrdiff_t k_stride;
    const float *q;
    int dim; /* dimensions, or groups of PAIR */
    float scale;
    struct score_target to;
    const vf *start;    /* what sums of each column begin at, and */
    struct fetch fetch; /* what to fetch meanwhile, both where FLASH_DIRECT */
};

/* What the weights of a register tile are made of, where they are made of scores in registers. */
struct weigh_args {
    struct score_args scores;       /* start: -m of each column, or infinity: no key seen yet */
    const struct lane_range *lanes; /* of each column; NULL: all see all */
    int row;                        /* of the block */
    vf *l;
    bool *fit; /* set to whether none is too large for m to stay: only then l has grown */
};

/* What the results of a register tile are made of. */
struct value_args {
    const void *v; /* its first value dimension */
    ptrdiff_t v_stride;
    const float *p; /* weights */
    int steps;      /* keys, or groups of PAIR; not 0 */
    float *o;
    bool fresh;         /* o holds nothing yet */
    struct fetch fetch; /* as above */
};

VF_INLINE void store_results(const int rows, const int cols, float *o,
                             vf acc[FLASH_HIGHEST][FLASH_COLS])
{
    VF_UNROLL
    for (int r = 0; r < rows; r++) {
        VF_UNROLL
        for (int c = 0; c < cols; c++)
            vf_store(o + r * FLASH_TILE + c * VF_LANES, acc[r][c]);
    }
}

/* Adds the sums of a block's keys to the results: rounding errors grow with the number of blocks, not
 * with that of keys. */
VF_INLINE void add_results(const int rows, const int cols, const struct value_args *a,
                           vf acc[FLASH_HIGHEST][FLASH_COLS])
{
    if (!a->fresh) {
        VF_UNROLL
        for (int r = 0; r < rows; r++) {
            VF_UNROLL
            for (int c = 0; c < cols; c++)
                acc[r][c] += vf_load(a->o + r * FLASH_TILE + c * VF_LANES);
        }
    }
    store_results(rows, cols, a->o, acc);
}
