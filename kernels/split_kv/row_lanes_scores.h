/*
 * row_lanes_scores.h: part of kernel split_kv: scores of a tile of rows in lanes, and meanwhile the weights of
 * the keys before.
 *
 * Registers: 4 sums of each of two chains, 4 vectors of Q, 2 of K, and up to 12 sums of earlier chains.  GCC
 * 12.2 needs some help: addresses that it keeps in vector registers come back only after the products before
 * them, at which the loads of the next ones wait (78 instead of 86 % of the rate).
 */
#pragma once

#include "row_lanes.h"

#define LANES_SUMS 4 /* of a register tile */

/* Rows of K whose scores are made, and the keys before them whose weights are: GROUP_KEYS each. */
struct lanes_group {
    struct lanes *t;
    struct rows k;
    ptrdiff_t steps; /* of a chain */
    int key;         /* of the pass */
    bool weigh;      /* there are such keys */
    vf top[LANES_COLS];
    struct rows following; /* of the next group, NULL: none */
    /* Of as many keys of the next pass, NULL if there is none: so many rows are fetched per register tile. */
    struct rows next[2];
    ptrdiff_t bytes[2]; /* of a row of K and of V */
    int fetched, each;
};

/* Fetches rows [from, from + n) of a group. */
VF_INLINE void fetch_rows(struct rows x, ptrdiff_t bytes, int from, int n, const int level)
{
    for (int row = from; x.data && row < from + n && row < GROUP_KEYS; row++)
        for (ptrdiff_t at = 0; at < bytes; at += 64)
            if (level == 1)
                __builtin_prefetch(x.data + row * x.stride + at, 0, 3);
            else
                __builtin_prefetch(x.data + row * x.stride + at, 0, 2);
}

/* Fetches a part of the next group into L1, and one of the next pass into L2. */
VF_NOINLINE void fetch_lanes(const struct lanes_group *g, int tile, int keys)
{
    fetch_rows(g->following, g->bytes[0], tile * keys, keys, 1);
    for (int i = 0; i < 2; i++)
        fetch_rows(g->next[i], g->bytes[i], (g->fetched + tile) * g->each, g->each, 2);
}

/* ---- sums of products ----------------------------------------------------------------------- */

/* Products of pairs `step` bytes apart of keys from k on, and of those `apart` bytes later: the sums of two
 * chains.  Q is read from *q on. */
VF_INLINE void lanes_chains(const int cols, const char *k, ptrdiff_t stride, const ptrdiff_t step,
                            const ptrdiff_t apart, const float **q, ptrdiff_t steps, vf *sum)
{
    const int keys = LANES_SUMS / cols;
    const float *at = *q;
    vf more[LANES_SUMS];
    VF_UNROLL
    for (int i = 0; i < LANES_SUMS; i++)
        sum[i] = more[i] = (vf){0};
    __asm__(""
            : "+r"(k),
              "+r"(steps)); /* GCC 12 would keep those of all chains, in vector registers */
#pragma GCC unroll 1
    do {
        vi b[2 * LANES_COLS];
        VF_UNROLL
        for (int c = 0; c < cols; c++) {
            b[c] = (vi)vf_load(at + c * VF_LANES);
            b[LANES_COLS + c] = (vi)vf_load(at + LANES_TILE + c * VF_LANES);
            __asm__("" : "+v"(b[c]), "+v"(b[LANES_COLS + c])); /* it would load them for each key */
        }
        VF_UNROLL
        for (int r = 0; r < keys; r++) {
            const vi first = pair_in_lanes(k + r * stride);
            const vi second = pair_in_lanes(k + apart + r * stride);
            VF_UNROLL
            for (int c = 0; c < cols; c++) {
                const int i = r * cols + c;
                sum[i] = bf16_dot(b[c], first, sum[i]);
                more[i] = bf16_dot(b[LANES_COLS + c], second, more[i]);
            }
        }
        at += 2 * LANES_TILE;
        k += step;
    } while (--steps);
    *q = at;
    VF_UNROLL
    for (int i = 0; i < LANES_SUMS; i++)
        sum[i] += more[i];
}

VF_INLINE void add_chains(vf *sum, const vf *more)
{
    VF_UNROLL
    for (int i = 0; i < LANES_SUMS; i++)
        sum[i] += more[i];
}

/* Sums of the chains of four lanes at distances 8 and 4, of the first and second of them. */
VF_INLINE void four_chains(const int cols, const char *k, ptrdiff_t stride, const float **q,
                           ptrdiff_t steps, vf *sum)
{
    vf more[LANES_SUMS];
    const ptrdiff_t lane = sizeof(float);
    lanes_chains(cols, k, stride, VF_BYTES, 8 * lane, q, steps, sum);
    lanes_chains(cols, k + 4 * lane, stride, VF_BYTES, 8 * lane, q, steps, more);
    add_chains(sum, more);
}

/* Those of eight, at distance 2, too; makes weights of a pair of keys, one before each four. */
VF_INLINE void eight_chains(const int cols, const char *k, ptrdiff_t stride, const float **q,
                            ptrdiff_t steps, const struct weighing *w, int pair, vf *sum)
{
    vf more[LANES_SUMS], first = {0};
    if (w)
        first = weigh_key(w, pair, 0);
    four_chains(cols, k, stride, q, steps, sum);
    if (w)
        weigh_second(w, pair, first);
    four_chains(cols, k + 2 * sizeof(float), stride, q, steps, more);
    add_chains(sum, more);
}

/* Sums of all chains of keys from k on, and weights of two pairs of others, unless w is NULL. */
VF_INLINE void all_chains(const bool pieces, const int cols, const struct lanes_group *g,
                          const char *k, const struct weighing *w, vf *sum)
{
    const float *q = g->t->q;
    if (pieces) {
        if (w)
            weigh_second(w, 0, weigh_key(w, 0, 0));
        lanes_chains(cols, k, g->k.stride, PIECE_BYTES, sizeof(float), &q, g->steps, sum);
        if (w)
            weigh_second(w, 1, weigh_key(w, 1, 0));
        return;
    }
    vf more[LANES_SUMS];
    eight_chains(cols, k, g->k.stride, &q, g->steps, w, 0, sum);
    eight_chains(cols, k + sizeof(float), g->k.stride, &q, g->steps, w, 1, more);
    add_chains(sum, more);
}

/* ---- scores of a group ---------------------------------------------------------------------- */

/* Stores the scores of a group, and raises top to them; makes weights of the group before. */
VF_INLINE void score_group(const bool pieces, const int cols, struct lanes_group *g)
{
    const int keys = LANES_SUMS / cols, tiles = GROUP_KEYS / keys;
    const float scale = g->t->scale;
    float *s = lanes_scores(g->t, g->key);
    const char *k = g->k.data;
    vf top[LANES_COLS];
    VF_UNROLL
    for (int c = 0; c < LANES_COLS; c++)
        top[c] = vf_set1(-INFINITY);
#pragma GCC unroll 1
    for (int i = 0; i < tiles; i++, k += keys * g->k.stride, s += keys * LANES_TILE) {
        vf sum[LANES_SUMS];
        fetch_lanes(g, i, keys);
        const struct weighing w = weighing_of(cols, g->t, g->weigh ? g->key - GROUP_KEYS : 0, i);
        all_chains(pieces, cols, g, k, g->weigh ? &w : NULL, sum);
        VF_UNROLL
        for (int r = 0; r < keys; r++) {
            VF_UNROLL
            for (int c = 0; c < cols; c++) {
                const vf x = sum[r * cols + c] * scale;
                vf_store(s + r * LANES_TILE + c * VF_LANES, x);
                top[c] = vf_max(x, top[c]); /* ignores NaN, as raise_shift() does */
            }
        }
    }
    memcpy(g->top, top, sizeof top);
}

#define LANES_SCORES(name, pieces, cols)         \
    VF_NOINLINE void name(struct lanes_group *g) \
    {                                            \
        score_group(pieces, cols, g);            \
    }
LANES_SCORES(score_lanes_1, false, 1)
LANES_SCORES(score_lanes_2, false, 2)
LANES_SCORES(score_pieces_1, true, 1)
LANES_SCORES(score_pieces_2, true, 2)

/* By whether sums have two lanes, and columns. */
static void score_lanes(struct lanes_group *g)
{
    static void (*const scores[2][LANES_COLS])(struct lanes_group * g) = {
        {score_lanes_1, score_lanes_2}, {score_pieces_1, score_pieces_2}};
    scores[g->t->pieces][g->t->cols - 1](g);
}
