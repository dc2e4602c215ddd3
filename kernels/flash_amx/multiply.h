/*
 * multiply.h: part of kernel flash for matrix units: products of tiles, with a softmax between them.
 *
 * A product of the unit takes 16 cycles, in which the core's vectors have nothing to do with it.  So the rows
 * of one job's softmax are computed between the products of its neighbours: the scores of strips to come, and
 * the results of the job before.  Sums of weights are products, too: in vectors they took some 300 of the
 * 1860 to 2100 cycles of a turn at D = 64.  What is multiplied is a list of products, each of 2 x 2 tiles of
 * results.
 * A list begins by storing, tile by tile as they are needed again, the results of the list before: waiting
 * for a store costs as much as half a product (16.5 instead of 24.3 cycles each on Emerald Rapids).
 */
#pragma once

#include "weigh_rows.h"

/* Where the four tiles of a product go. */
struct results {
    float *at;
    ptrdiff_t row, right, lower; /* bytes to the next row, to the right tiles, to the lower ones */
};

/* Sum over `steps` of A's next two tiles times B's two tiles at b + at[step], or of the rows of A's strips. */
struct product {
    struct left_rows a;
    const uint16_t *b;
    const int32_t *at;
    int steps;
    int strips; /* that are summed; 0: it is a product of A and B */
    bool add;   /* to what is there */
    struct results to;
    bool scores; /* of a strip; else they are results */
    int ready; /* rows of the job whose scores are there once it is stored; 0: it is another job's */
    int taken; /* rows of the job that must be done before it is stored, as it takes their scores' place */
};

/* Stores one of the four tiles of what is pending, whose register is needed. */
#define STORE_PENDING(pending, tile)                                                 \
    do {                                                                             \
        if ((pending)->to.at)                                                        \
            TILE_STORE(tile,                                                         \
                       (char *)(pending)->to.at + ((tile)&1) * (pending)->to.right + \
                           ((tile) / 2) * (pending)->to.lower,                       \
                       (pending)->to.row);                                           \
    } while (0)

/* Begins one of the four tiles of a product: the one before it is stored, and it is 0 or what it is added
 * to. */
#define BEGIN_TILE(pending, product, tile)                                          \
    do {                                                                            \
        STORE_PENDING(pending, tile);                                               \
        if ((product)->add)                                                         \
            TILE_LOAD(tile,                                                         \
                      (char *)(product)->to.at + ((tile)&1) * (product)->to.right + \
                          ((tile) / 2) * (product)->to.lower,                       \
                      (product)->to.row);                                           \
        else                                                                        \
            TILE_ZERO(tile);                                                        \
    } while (0)

/* Weighs rows [from, to) of those of a step, if their scores have been computed. */
#define WEIGH_SOME(from, to)                          \
    do {                                              \
        if (go)                                       \
            for (int i = (from); i < (to); i++)       \
                weigh(w, kind, &r, i, c, &at->flags); \
    } while (0)

static inline void flush(struct product *pending)
{
    STORE_PENDING(pending, 0);
    STORE_PENDING(pending, 1);
    STORE_PENDING(pending, 2);
    STORE_PENDING(pending, 3);
    pending->to.at = NULL;
    pending->scores = false;
    pending->ready = pending->taken = 0;
}

/* A softmax that is under way. */
struct progress {
    int done, ready, total; /* rows */
    struct weigh_flags flags;
};

/* One step of a product: four tiles loaded, four products, `rows` rows of the softmax between them.  B is
 * read past the first-level cache, which keeps scores, weights and queries.  Products that share a tile of B
 * follow each other, and three tiles are loaded before the first: a step without a softmax takes 65 cycles with
 * its operands in L1 and 66 to 71 with B in L2, and 73 to 76 and 75 to 82 where neighbours share a tile of A and
 * each tile is loaded when it is needed.  `ready`: scores are known to be there. */
VF_INLINE void step(const bool first, const bool ready, const int rows, const enum weigh_kind kind,
                    const struct product *p, const uint16_t *a, const uint16_t *b,
                    const struct product *pending, const struct weighing *w,
                    const struct weigh_constants *c, struct progress *at)
{
    const bool go = ready || at->done + rows <= at->ready;
    const struct weigh_rows r = weigh_rows_at(w, (unsigned)at->done);
    TILE_LOAD_PAST_L1(6, b, TILE_ROW_BYTES);
    TILE_LOAD(4, a, p->a.row);
    TILE_LOAD(5, a + p->a.lower, p->a.row);
    if (first)
        BEGIN_TILE(pending, p, 0);
    TILE_DOT_BF16(0, 4, 6);
    WEIGH_SOME(0, (rows + 3) / 4);
    TILE_LOAD_PAST_L1(7, b + TILE_ELEMENTS, TILE_ROW_BYTES);
    if (first)
        BEGIN_TILE(pending, p, 2);
    TILE_DOT_BF16(2, 5, 6);
    WEIGH_SOME((rows + 3) / 4, (rows + 1) / 2);
    if (first)
        BEGIN_TILE(pending, p, 1);
    TILE_DOT_BF16(1, 4, 7);
    WEIGH_SOME((rows + 1) / 2, (3 * rows + 3) / 4);
    if (first)
        BEGIN_TILE(pending, p, 3);
    TILE_DOT_BF16(3, 5, 7);
    WEIGH_SOME((3 * rows + 3) / 4, rows);
    at->done += go ? rows : 0;
}

/* A tile of B by which a row is summed, two elements to a column: pairs of ones on its diagonal. */
#define ONES 0x3f803f80
static const uint32_t pair_sums[TILE_ROWS][TILE_ROWS] __attribute__((aligned(64))) = {
    [0][0] = ONES,   [1][1] = ONES,   [2][2] = ONES,   [3][3] = ONES,
    [4][4] = ONES,   [5][5] = ONES,   [6][6] = ONES,   [7][7] = ONES,
    [8][8] = ONES,   [9][9] = ONES,   [10][10] = ONES, [11][11] = ONES,
    [12][12] = ONES, [13][13] = ONES, [14][14] = ONES, [15][15] = ONES,
};
#undef ONES

/* Adds the rows of A's strips to sums: those of even ones to the left tiles, those of odd ones to the right. */
VF_INLINE void add_rows(const struct product *p, const int strips, const struct product *pending)
{
    TILE_LOAD(6, pair_sums, TILE_ROW_BYTES);
    const uint16_t *a = p->a.at;
    for (int s = 0; s < strips; s += 2, a += 2 * PAIR_ELEMENTS) {
        TILE_LOAD(4, a, TILE_ROW_BYTES);
        if (!s)
            BEGIN_TILE(pending, p, 0);
        TILE_DOT_BF16(0, 4, 6);
        TILE_LOAD(5, a + TILE_ELEMENTS, TILE_ROW_BYTES);
        if (!s) {
            BEGIN_TILE(pending, p, 2);
            BEGIN_TILE(pending, p, 1);
        }
        TILE_DOT_BF16(2, 5, 6);
        if (!s)
            BEGIN_TILE(pending, p, 3);
        if (s + 1 == strips)
            break;
        TILE_LOAD(7, a + PAIR_ELEMENTS, TILE_ROW_BYTES);
        TILE_DOT_BF16(1, 7, 6);
        TILE_LOAD(4, a + PAIR_ELEMENTS + TILE_ELEMENTS, TILE_ROW_BYTES);
        TILE_DOT_BF16(3, 4, 6);
    }
}

/* Rows up to `end`, whatever is under way. */
VF_INLINE void weigh_up_to(int end, const enum weigh_kind kind, const struct weighing *w,
                           const struct weigh_constants *c, struct progress *at)
{
    for (; at->done < end; at->done++) {
        const struct weigh_rows r = weigh_rows_at(w, (unsigned)at->done);
        weigh(w, kind, &r, 0, c, &at->flags);
    }
}

/* Computes a list of products and all rows of a softmax.  *pending is a product that is not stored yet, or
 * its results are NULL; in the end it is the last one, unless that gave scores. */
VF_INLINE void multiply_beside(const int rows, const enum weigh_kind kind,
                               const struct product *list, int n, const struct weighing *w,
                               struct progress *progress, struct product *pending)
{
    const struct weigh_constants c = weigh_constants_of(&w->factors);
    const struct product *before = pending;
    struct progress at = *progress;
    for (const struct product *p = list; p < list + n; before = p++) {
        prefetch_share(w->prefetch);
        weigh_up_to(before->taken, kind, w, &c, &at);
        if (p->strips)
            add_rows(p, p->strips, before);
        else
            step(true, false, rows, kind, p, p->a.at, p->b + p->at[0], before, w, &c, &at);
        at.ready = before->ready > at.ready ? before->ready : at.ready;
        for (int i = 1; i < p->steps; i++)
            step(false, false, rows, kind, p, p->a.at + i * p->a.next, p->b + p->at[i], before, w,
                 &c, &at);
    }
    *pending = *before;
    if (pending->scores) {
        weigh_up_to(pending->taken, kind, w, &c, &at);
        flush(pending);
    }
    weigh_up_to(at.total, kind, w, &c, &at);
    *progress = at;
}

typedef void multiply_way(const struct product *, int, const struct weighing *, struct progress *,
                          struct product *);

#define MULTIPLY(rows, kind)                                                                 \
    VF_NOINLINE void multiply_##rows##_##kind(const struct product *list, int n,             \
                                              const struct weighing *w, struct progress *at, \
                                              struct product *pending)                       \
    {                                                                                        \
        multiply_beside(rows, kind, list, n, w, at, pending);                                \
    }
#define MULTIPLY_EACH(rows)                                              \
    MULTIPLY(rows, WEIGH_ALL)                                            \
    MULTIPLY(rows, WEIGH_SEEN)                                           \
    MULTIPLY(rows, WEIGH_RAMP)                                           \
    MULTIPLY(rows, WEIGH_CAPPED)                                         \
    MULTIPLY(rows, WEIGH_BIAS)                                           \
    MULTIPLY(rows, WEIGH_CHANGED)                                        \
    MULTIPLY(rows, WEIGH_SCALED)                                         \
    static multiply_way *const multiply_##rows[] = {                     \
        multiply_##rows##_WEIGH_ALL,    multiply_##rows##_WEIGH_SEEN,    \
        multiply_##rows##_WEIGH_RAMP,   multiply_##rows##_WEIGH_CAPPED,  \
        multiply_##rows##_WEIGH_BIAS,   multiply_##rows##_WEIGH_CHANGED, \
        multiply_##rows##_WEIGH_SCALED,                                  \
    };
MULTIPLY_EACH(8)
MULTIPLY_EACH(4)
MULTIPLY_EACH(2)

/* Multiplies, and weighs as many rows in each step as make both end together; `steps` are those of a whole
 * job. */
static void multiply(int steps, enum weigh_kind kind, const struct product *list, int n,
                     const struct weighing *w, struct progress *at, struct product *pending)
{
    const int all = JOB_STRIPS * BLOCK_ROWS;
    multiply_way *const *ways = steps * 4 < all   ? multiply_8
                                : steps * 2 < all ? multiply_4
                                                  : multiply_2;
    ways[kind](list, n, w, at, pending);
}

/* The same with no softmax beside. */
static void multiply_alone(int steps, const struct product *list, int n, struct product *pending)
{
    struct prefetch nothing;
    const struct weighing w = {.prefetch = &nothing};
    struct progress at = {.flags = weigh_no_flags()};
    prefetch_clear(&nothing);
    multiply(steps, WEIGH_ALL, list, n, &w, &at, pending);
}

/* ---- which products ----------------------------------------------------------------------------- */

static const uint16_t *packed_k(const struct call *call, const struct scratch *scratch, int strip)
{
    return scratch->k + (size_t)strip * (size_t)call->q_steps * PAIR_ELEMENTS;
}

/* Products are filled in field by field: copied whole, they would wait for what was just written. */
static inline void score_product(const struct call *call, const struct block *block,
                                 const uint16_t *k, float *scores, struct product *p)
{
    p->a = block->q;
    p->b = k;
    p->at = call->k_at;
    p->steps = call->score_steps;
    p->strips = 0;
    p->add = false;
    p->to.at = scores;
    p->to.row = STRIP_KEYS * sizeof(float);
    p->to.right = TILE_ROW_BYTES;
    p->to.lower = TILE_ROWS * STRIP_KEYS * sizeof(float);
    p->scores = true;
    p->ready = p->taken = 0;
}

/* What a job's keys add to 32 value dimensions, those of product d. */
static inline void value_product(const struct job *job, int d, const uint16_t *weights,
                                 const uint16_t *v, struct product *p)
{
    p->a = packed_rows(weights);
    p->b = v + d * PAIR_ELEMENTS;
    p->at = job->values;
    p->steps = job->strips;
    p->strips = 0;
    p->add = job->block->started;
    p->to.at = job->block->o + d * RESULT_FLOATS;
    p->to.row = TILE_ROW_BYTES;
    p->to.right = TILE_ROWS * TILE_ROW_BYTES;
    p->to.lower = 2 * TILE_ROWS * TILE_ROW_BYTES;
    p->scores = false;
    p->ready = p->taken = 0;
}

/* The sums of a job's weights. */
static inline void sum_product(const struct job *job, const uint16_t *weights, struct product *p)
{
    p->a = packed_rows(weights);
    p->steps = 1; /* add_rows() */
    p->strips = job->strips;
    p->add = job->block->started;
    p->to.at = job->block->l[0][0];
    p->to.row = TILE_ROW_BYTES;
    p->to.right = BLOCK_ROWS * TILE_ROW_BYTES;
    p->to.lower = TILE_ROWS * TILE_ROW_BYTES;
    p->scores = false;
    p->ready = p->taken = 0;
}
