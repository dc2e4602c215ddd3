/*
 * whole.h: part of kernel flash for matrix units: the fast path for a whole turn.
 *
 * Most turns of long sequences are alike: four strips of softmax, as many strips of scores to come, and the
 * results and sums of four strips.  Where products have 64 or 128 dimensions, their number and order are known
 * when this is compiled, and with them that the scores of a row are there before its turn, and that they have been
 * read before others take their place.
 */
#pragma once

#include "multiply.h"

struct whole {
    struct left_rows q[JOB_STRIPS]; /* factors of the strips of scores to come, */
    const uint16_t *k[JOB_STRIPS];
    float *scores[JOB_STRIPS];   /* and where they go */
    const uint16_t *weights, *v; /* factors of results */
    const int32_t *values;       /* where each strip's V lies behind v, */
    const int32_t *k_at;         /* and the tiles of K in each of k */
    float *o, *l;                /* results and sums */
    bool add;                    /* to what is there */
};

/* A product of tiles: a's follow each other, b's lie at b + at[]. */
VF_INLINE void multiply_one(const int rows, const int steps, const enum weigh_kind kind,
                            const struct product *p, struct product *before,
                            const struct weighing *w, const struct weigh_constants *c,
                            struct progress *at)
{
    prefetch_share(w->prefetch);
    step(true, true, rows, kind, p, p->a.at, p->b + p->at[0], before, w, c, at);
#pragma GCC unroll 1
    for (int i = 1; i < steps; i++)
        step(false, true, rows, kind, p, p->a.at + i * p->a.next, p->b + p->at[i], before, w, c,
             at);
    before->to = p->to;
}

/* For scores and results of `steps` times 32 dimensions. */
VF_INLINE void multiply_all(const int steps, const enum weigh_kind kind, const struct whole *whole,
                            const struct weighing *w, struct progress *progress,
                            struct product *pending)
{
    const int rows = BLOCK_ROWS / (2 * steps);
    const struct weigh_constants c = weigh_constants_of(&w->factors);
    struct product before = *pending;
    struct progress at = *progress;
    for (int d = 0, s = 0; d < steps; d++) {
        for (; s < (d + 1) * JOB_STRIPS / steps; s++) {
            const struct product scores = {
                .a = whole->q[s],
                .b = whole->k[s],
                .at = whole->k_at,
                .to = {whole->scores[s], STRIP_KEYS * sizeof(float), TILE_ROW_BYTES,
                       TILE_ROWS * STRIP_KEYS * sizeof(float)},
            };
            multiply_one(rows, steps, kind, &scores, &before, w, &c, &at);
        }
        const struct product values = {
            .a = packed_rows(whole->weights),
            .b = whole->v + d * PAIR_ELEMENTS,
            .at = whole->values,
            .add = whole->add,
            .to = {whole->o + d * RESULT_FLOATS, TILE_ROW_BYTES, TILE_ROWS * TILE_ROW_BYTES,
                   2 * TILE_ROWS * TILE_ROW_BYTES},
        };
        multiply_one(rows, JOB_STRIPS, kind, &values, &before, w, &c, &at);
        if (d == 0) { /* up to 5 % faster than at the end */
            const struct product sums = {
                .a = packed_rows(whole->weights),
                .add = whole->add,
                .to = {whole->l, TILE_ROW_BYTES, BLOCK_ROWS * TILE_ROW_BYTES,
                       TILE_ROWS * TILE_ROW_BYTES},
            };
            add_rows(&sums, JOB_STRIPS, &before);
            before.to = sums.to;
        }
    }
    pending->to = before.to;
    *progress = at;
}

#define WHOLE(steps, kind)                                                                        \
    VF_NOINLINE void multiply_all_##steps##_##kind(const struct whole *whole,                     \
                                                   const struct weighing *w, struct progress *at, \
                                                   struct product *pending)                       \
    {                                                                                             \
        multiply_all(steps, kind, whole, w, at, pending);                                         \
    }
#define WHOLE_EACH(steps)      \
    WHOLE(steps, WEIGH_ALL)    \
    WHOLE(steps, WEIGH_SEEN)   \
    WHOLE(steps, WEIGH_RAMP)   \
    WHOLE(steps, WEIGH_CAPPED) \
    WHOLE(steps, WEIGH_BIAS)
WHOLE_EACH(2)
WHOLE_EACH(4)

#define WHOLE_KINDS WEIGH_CHANGED /* those below have a fast path */

static void multiply_whole(int steps, enum weigh_kind kind, const struct whole *whole,
                           const struct weighing *w, struct progress *at, struct product *pending)
{
    typedef void way(const struct whole *, const struct weighing *, struct progress *,
                     struct product *);
    static way *const ways[][WHOLE_KINDS] = {
        {multiply_all_2_WEIGH_ALL, multiply_all_2_WEIGH_SEEN, multiply_all_2_WEIGH_RAMP,
         multiply_all_2_WEIGH_CAPPED, multiply_all_2_WEIGH_BIAS},
        {multiply_all_4_WEIGH_ALL, multiply_all_4_WEIGH_SEEN, multiply_all_4_WEIGH_RAMP,
         multiply_all_4_WEIGH_CAPPED, multiply_all_4_WEIGH_BIAS}};
    ways[steps / 4][kind](whole, w, at, pending);
}
