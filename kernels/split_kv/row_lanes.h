/*
 * row_lanes.h: part of kernel split_kv: query rows of several units in the lanes of vectors, for keys that all
 * of them see: weights and results; row_lanes_scores.h makes scores.
 *
 * As in flash, scores and results are transposed: a vector holds a row in each lane, and a pair of elements of
 * K or V, broadcast, is multiplied with all of them.  So no sum is spread over lanes, and V is interleaved once
 * for all rows (shared_keys.h).  But a row must have the bits that its own unit gives it:
 *
 *   scores   in a unit (scores.h) lane l of a sum has the products of pairs l, l + 16, .., and lanes are added
 *            at distance 8, 4, 2, 1; with eight rows a sum has two lanes.  Here each lane of those is a sum of
 *            its own, a chain, and the chains are added in the same order.
 *   weights  the shift of a row rises at the same groups of keys, and rescales weights of the same block
 *            before they are rounded to bf16, the others' results afterwards.
 *   l        has as many partial sums as a unit has lanes for the row.
 *   results  sums of pairs of keys, in the order of the keys, as there.
 *
 * Weights of a group of keys are made between the products of the next one.  Products take all turns of Zen 4's
 * multipliers.  Beside them additions, loads and permutes are free; a multiplication takes a turn, and a store
 * of 64 bytes one to two (256 keys by 32 rows of 128 on one core, 2026-11-30: scores 96 % of the products' rate,
 * with weights 86, results 99; GCC 12.2).  So partial sums stay in registers, and weights are stored once, as
 * bf16: where a shift rises they are made again from the scores.
 */
#pragma once

#include "shared/transpose.h"
#include "unit_blocks.h"

#define LANES_DIMS 8 /* of one of results, for each column */

/* When the shift of rows rose: before group `key` of the pass, from `before`. */
struct lanes_rise {
    int key;
    vf before[LANES_COLS], factor[LANES_COLS];
};

/* A tile: rows of 2 vectors each, or of 1. */
struct lanes {
    int rows, cols;
    int parts;   /* of l: keys j, j + parts, .. have one */
    bool pieces; /* eight rows a tile in units, whose sums have two lanes */
    float scale;
    float *q;  /* [pair of chains][step][chain of the pair][LANES_TILE] pairs */
    float *o;  /* [dimension, as in a part][LANES_TILE] */
    float *s;  /* [key % LANES_RING][LANES_TILE] scores */
    float *p;  /* [pair of keys of the pass][LANES_TILE] weights */
    int added; /* keys of the pass whose values o has; o holds nothing yet if `fresh` */
    bool fresh;
    vf shift[LANES_COLS], limit[LANES_COLS], sum[VF_LANES][LANES_COLS];
    int block, rises; /* in this block of the pass */
    struct lanes_rise rise[BLOCK_KEYS / GROUP_KEYS];
};

VF_INLINE vi pair_in_lanes(const char *p)
{
    int32_t pair;
    memcpy(&pair, p, sizeof pair);
    return pair - (vi){0};
}

/* Scores of a key of the pass. */
VF_INLINE float *lanes_scores(const struct lanes *t, int key)
{
    return t->s + (key & (LANES_RING - 1)) * LANES_TILE;
}

/* ---- weights -------------------------------------------------------------------------------- */

/* Two pairs of keys whose weights are made beside a register tile: scores, weights and part of l of the first
 * pair, and how far those of the second are. */
struct weighing {
    const float *s;
    float *p;
    const vf *shift;
    vf *sum;
    ptrdiff_t keys, parts;
};

/* Call `call` of the GROUP_KEYS / 4 for each column that a group takes, the first key of which is `key`; pairs
 * that have the same parts come in the order of their keys. */
VF_INLINE struct weighing weighing_of(const int cols, struct lanes *t, int key, int call)
{
    const int c = call % cols, i = call / cols;
    key += t->parts == 2 ? i * 4 : i % 2 * 2 + i / 2 * 8;
    struct weighing w = {
        .s = lanes_scores(t, key) + c * VF_LANES,
        .p = t->p + key / 2 * LANES_TILE + c * VF_LANES,
        .shift = &t->shift[c],
        .sum = &t->sum[key & (t->parts - 1)][c],
        .keys = t->parts == 2 ? 2 : 4,
        .parts = t->parts > 4 ? 4 : 0,
    };
    /* GCC 12 would keep some in vector registers, from which they come only after products. */
    __asm__("" : "+r"(w.s), "+r"(w.p), "+r"(w.sum));
    return w;
}

/* The score of a pair's first or second key becomes a weight. */
VF_INLINE vf weigh_key(const struct weighing *w, int pair, int key)
{
    const vf score = vf_load(w->s + (pair * w->keys + key) * LANES_TILE);
    const vf e = exp2_any(score - *w->shift);
    w->sum[(pair * w->parts + key) * LANES_COLS] += e;
    return e;
}

VF_INLINE void weigh_second(const struct weighing *w, int pair, vf first)
{
    vf_store(w->p + pair * w->keys / 2 * LANES_TILE, (vf)bf16_join(first, weigh_key(w, pair, 1)));
}

/* The weights of a group that no other follows. */
static void weigh_group(struct lanes *t, int key)
{
    for (int i = 0; i < GROUP_KEYS / 4 * t->cols; i++) {
        const struct weighing w =
            t->cols == 1 ? weighing_of(1, t, key, i) : weighing_of(2, t, key, i);
        for (int pair = 0; pair < 2; pair++)
            weigh_second(&w, pair, weigh_key(&w, pair, 0));
    }
}

/* ---- values --------------------------------------------------------------------------------- */

/* o += P V of pairs [from, to) for LANES_DIMS dimensions, whose interleaved values begin at v. */
VF_INLINE void lanes_values(const int cols, struct lanes *t, const char *v, float *o, int from,
                            int to)
{
    vf sum[LANES_DIMS][LANES_COLS];
    VF_UNROLL
    for (int r = 0; r < LANES_DIMS; r++) {
        VF_UNROLL
        for (int c = 0; c < cols; c++)
            sum[r][c] = t->fresh ? (vf){0} : vf_load(o + r * LANES_TILE + c * VF_LANES);
    }
    const float *p = t->p + from * LANES_TILE, *const end = t->p + to * LANES_TILE;
    v += from * VF_BYTES;
#pragma GCC unroll 1
    for (; p < end; p += LANES_TILE, v += VF_BYTES) {
        vi b[LANES_COLS];
        VF_UNROLL
        for (int c = 0; c < cols; c++)
            b[c] = (vi)vf_load(p + c * VF_LANES);
        VF_UNROLL
        for (int r = 0; r < LANES_DIMS; r++) {
            const vi pair = pair_in_lanes(v + r * (ptrdiff_t)sizeof(float));
            VF_UNROLL
            for (int c = 0; c < cols; c++)
                sum[r][c] = bf16_dot(b[c], pair, sum[r][c]);
        }
    }
    VF_UNROLL
    for (int r = 0; r < LANES_DIMS; r++) {
        VF_UNROLL
        for (int c = 0; c < cols; c++)
            vf_store(o + r * LANES_TILE + c * VF_LANES, sum[r][c]);
    }
}

/* o += P V of the keys up to `to` that it does not have; interleaved values: [vector of o][pair of keys of
 * LANES_KEYS][lane]. */
VF_NOINLINE void add_lanes(struct lanes *t, const char *v, ptrdiff_t o_floats, int to)
{
    if (t->added == to)
        return;
    for (ptrdiff_t d = 0; d < o_floats; d += LANES_DIMS) {
        const char *at = v + d / VF_LANES * LANES_PANEL + d % VF_LANES * (ptrdiff_t)sizeof(float);
        if (t->cols == 1)
            lanes_values(1, t, at, t->o + d * LANES_TILE, t->added / 2, to / 2);
        else
            lanes_values(2, t, at, t->o + d * LANES_TILE, t->added / 2, to / 2);
    }
    t->added = to;
    t->fresh = false;
}

/* ---- shifts --------------------------------------------------------------------------------- */

/* Raises the shift of column c to `top` where that exceeds the limit; returns the factors of what is relative
 * to the old one.  (Lane by lane, as in raise_shift().) */
static vf raise_column(struct lanes *t, int c, vf top)
{
    vf factor = vf_set1(1);
    for (int i = 0; i < VF_LANES; i++) {
        const float m = top[i], limit = t->limit[c][i];
        if (!(m > limit))
            continue;
        factor[i] = limit == -INFINITY ? 0 : exp2f(t->shift[c][i] - m);
        t->shift[c][i] = m;
        t->limit[c][i] = m + 8;
    }
    return factor;
}

/* Weights of a key in column c as they are after the rises of its block. */
static vf risen_weights(const struct lanes *t, int key, int c)
{
    int i = 0;
    while (t->rise[i].key <= key)
        i++;
    vf e = exp2_any(vf_load(lanes_scores(t, key) + c * VF_LANES) - t->rise[i].before[c]);
    for (; i < t->rises; i++)
        e *= t->rise[i].factor[c];
    return e;
}

/* Raises shifts before the weights of group `key` of the pass are made; rescales l, the results, and the
 * weights of keys from `block` on, which are of one block, and whose values have not been added yet. */
VF_NOINLINE void raise_lanes(struct lanes *t, const vf top[LANES_COLS], int block, int key,
                             const char *v, ptrdiff_t o_floats)
{
    add_lanes(t, v, o_floats, block);
    if (block != t->block)
        t->rises = 0;
    t->block = block;
    struct lanes_rise *rise = &t->rise[t->rises++];
    rise->key = key;
    for (int c = 0; c < t->cols; c++) {
        rise->before[c] = t->shift[c];
        const vf factor = rise->factor[c] = raise_column(t, c, top[c]);
        for (int i = 0; i < t->parts; i++)
            t->sum[i][c] *= factor;
        for (int j = block; j < key; j += 2)
            vf_store(t->p + j / 2 * LANES_TILE + c * VF_LANES,
                     (vf)bf16_join(risen_weights(t, j, c), risen_weights(t, j + 1, c)));
        for (ptrdiff_t d = 0; !t->fresh && d < o_floats; d++) {
            float *o = t->o + d * LANES_TILE + c * VF_LANES;
            vf_store(o, vf_load(o) * factor);
        }
    }
}
