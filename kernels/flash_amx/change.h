/*
 * change.h: part of kernel flash for matrix units: what changes scores before they become weights.
 *
 * A vector of 16 products takes one multiply-add to become weights' n (weigh.h).  ALiBi's rise from key to
 * key and a bias are one more; a cap is four more and a maximum.  Anything else, or several of these together, is
 * added in float32 first: WEIGH_CHANGED.
 */
#pragma once

#include "pack.h"

#define WEIGHT_UNIT 256.0f /* of a weight's n, for 1 of a score in base 2 */

/* What makes n of products, as the kinds need it. */
struct weigh_factors {
    float unit;   /* weigh_unit() */
    float cap[3]; /* of a capped score's third, fifth and seventh power */
    float most;   /* largest square of a product for which these suffice */
    float scale;  /* of products, to scores that get a bias */
};

/* The softmax of a job, row after row of its strips. */
struct weighing {
    float *scores[JOB_STRIPS + 1]; /* rows of STRIP_KEYS; behind them NULL, which step() may read */
    const uint32_t (*seen)[BLOCK_ROWS];
    const float *bias;
    uint16_t *weights; /* tiles of A, two a strip */
    /* Sums of this job's weights, lane by lane, where these take scales of values; else NULL. */
    float (*sums)[TILE_ROWS];
    struct weigh_factors factors;
    /* where scores are changed */
    const struct terms *terms;
    const float *rise;                  /* of each row's products, from key to key, and */
    const float (*offsets)[STRIP_KEYS]; /* of each strip, keys from where the block stands */
    ptrdiff_t key[JOB_STRIPS], end;     /* first of each strip; where the sequence ends */
    ptrdiff_t bias_at[JOB_STRIPS];      /* bytes from a row's bias to a strip's */
    bool half;                          /* a bias is bfloat16, not float32 */
    float scale, v_unit;
    const float *k_scale[JOB_STRIPS], *v_scale[JOB_STRIPS]; /* of the keys of each; NULL: none */
    struct prefetch *prefetch;                              /* what is fetched between products */
};

/* Factor from a product to n, or from a score where scores are made of products first. */
static inline float weigh_unit(const struct call *call, const struct block *block,
                               enum weigh_kind kind)
{
    return call->unit * (kind >= WEIGH_BIAS ? 1 : block->scale) * WEIGHT_UNIT;
}

/* Factors of a block.  c tanh(x / c) is x times a polynomial of (x / c)^2, off by less than 7e-7 of itself
 * where that is 0.25 or less; other jobs are computed again by exactly.h. */
static inline struct weigh_factors weigh_factors_of(const struct call *call,
                                                    const struct block *block, enum weigh_kind kind)
{
    struct weigh_factors f = {
        .unit = weigh_unit(call, block, kind), .most = INFINITY, .scale = block->scale};
    if (kind != WEIGH_CAPPED)
        return f;
    const float by = block->scale / call->problem->softcap, square = by * by;
    f.most = 0.25f / square;
    f.cap[0] = -0x1.5547c4p-2f * square * f.unit;
    f.cap[1] = 0x1.0e7212p-3f * square * square * f.unit;
    f.cap[2] = -0x1.6e984cp-5f * square * square * square * f.unit;
    return f;
}

/* The same in vectors. */
struct factors {
    vf unit, cap[3], scale;
};

VF_INLINE struct factors factors_of(const struct weigh_factors *f)
{
    return (struct factors){
        vf_set1(f->unit),
        {vf_set1(f->cap[0]), vf_set1(f->cap[1]), vf_set1(f->cap[2])},
        vf_set1(f->scale),
    };
}

/* Terms of a row's products of a strip: places of keys and the rise between them, or a bias. */
struct row_change {
    const float *offsets;
    float rise;
    const char *bias;
    bool half; /* it is bfloat16, not float32 */
};

VF_INLINE vf bias_from(const struct row_change *change, int key)
{
    return change->half ? vf_load_elements(ATTN_BF16, change->bias + key * 2, VF_LANES)
                        : vf_load_elements(ATTN_F32, change->bias + key * 4, VF_LANES);
}

/* n is x times factor, and what the row has. */
struct changed {
    vf x, factor;
    vf square; /* of products whose score is capped */
};

/* Products of keys from `key` of a strip on. */
VF_INLINE struct changed change_products(vf s, const enum weigh_kind kind,
                                         const struct row_change *change, int key,
                                         const struct factors *f)
{
    const vf none = vf_set1(0);
    if (kind == WEIGH_RAMP)
        return (struct changed){vf_fma(vf_load(change->offsets + key), vf_set1(change->rise), s),
                                f->unit, none};
    if (kind == WEIGH_BIAS)
        return (struct changed){vf_fma(s, f->scale, bias_from(change, key)), f->unit, none};
    if (kind != WEIGH_CAPPED)
        return (struct changed){s, f->unit, none};
    const vf square = s * s, upper = vf_fma(f->cap[2], square, f->cap[1]);
    return (struct changed){s, vf_fma(vf_fma(upper, square, f->cap[0]), square, f->unit), square};
}

/* Makes the score of a product one of the problem, by the scales of keys and the terms of its row. */
static inline void change_row(float *scores, const struct terms *t, float scale,
                              const float *k_scale, ptrdiff_t key, ptrdiff_t end)
{
    for (int i = 0; i < STRIP_KEYS; i += VF_LANES) {
        vi hidden;
        const ptrdiff_t left = end - key - i;
        const vf of_product = vf_load(scores + i) * vf_set1(scale);
        const vf x = terms_capped(t, k_scale ? of_product * vf_load(k_scale + i) : of_product);
        if (left >= VF_LANES)
            vf_store(scores + i, x + terms_each(t, key + i, VF_LANES, &hidden));
        else if (left > 0)
            vf_store(scores + i, x + terms_each(t, key + i, (size_t)left, &hidden));
    }
}
