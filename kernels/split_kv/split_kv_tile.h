/*
 * split_kv_tile.h: part of kernel split_kv: a tile of up to eight query rows with the state of its softmax.
 *
 * Scores are kept times log2(e), so that e^x is 2^x, unless something is added to them (split_kv_terms.h): a
 * bias may be as large as a float can be, and must not become infinite.
 */
#pragma once

#include <math.h>
#include <stdbool.h>

#include "format.h"
#include "shared/exp2.h"
#include "shared/softcap.h"

#define GROUP_KEYS 16 /* keys whose scores are compared with the running maximum at once */
#define MOST_KEY_GROUPS (BYTE_PAIRS ? 2 : 1) /* groups of keys whose scores are computed at once */
#define LANE_ROWS 8                          /* query rows of the highest tile with 16 lanes */
#if MATRIX_UNIT
#define MOST_ROWS VF_LANES /* always */
#define P_STEP 16 /* floats from one vector of P to the next: a tile of the unit has 16 rows */
#define P_AT(t, key) ((key)*P_STEP) /* index of a key's P */
#else
#define MOST_ROWS (VF_LANES == 2 * LANE_ROWS ? LANE_ROWS : 4)
#define P_STEP VF_LANES
#define P_AT(t, key) ((key) * (t)->rows)
#endif

/* x in variants whose tiles may have eight rows, else nothing. */
#if VF_LANES == 2 * LANE_ROWS
#define OF_EIGHT_ROWS(x) x
#else
#define OF_EIGHT_ROWS(x)
#endif

/* ---- rows of K and V ------------------------------------------------------------------------ */

/*
 * Cache lines of the next key rows, to fetch while a tile computes, by address whatever the order of the
 * loads.  Each line is prefetched twice: `far` bytes ahead into L2, which hides the latency of DRAM, as few
 * L1 misses can be outstanding, and then into L1, which hides that of L2.
 */
struct cursor {
    const char *at, *row_end;
    ptrdiff_t bytes, stride, far;
    int rows; /* after this one */
};

VF_INLINE void fetch_next(struct cursor *c)
{
    if (__builtin_expect(c->at >= c->row_end, 0)) {
        if (c->rows <= 0)
            return;
        c->row_end += c->stride;
        c->at = c->row_end - c->bytes;
        c->rows--;
    }
    __builtin_prefetch(c->at, 0, 3);
    __builtin_prefetch(c->at + c->far, 0, 2);
    c->at += 64; /* with longer lines some prefetches are redundant */
}

/* Key or value rows of one head. */
struct rows {
    const char *data;
    ptrdiff_t stride; /* bytes */
};

/* ---- a tile and its softmax ----------------------------------------------------------------- */

/* Query rows and their sums so far in this split. */
struct tile {
    int rows;
    int keys;           /* of a vector of P: VF_LANES / rows */
    const float *q;     /* [part][step][row][vector]; parts: bytes_as_bf16.h */
    float unit;         /* scaling.k (unit.h), for natural scores */
    float scale;        /* of the scores, times log2(e) if `bits` is 1 */
    float bits;         /* from scores to exponents of 2: log2(e) for natural scores, else 1 */
    float lift;         /* how far the shift is below a maximum of scores */
    float *p;           /* [key][row] */
    ptrdiff_t before;   /* keys whose P, not used yet, precedes p */
    float *o;           /* unnormalised */
    ptrdiff_t o_floats; /* of a row */
    /* By lane, lane % rows being the row.  P is 2^(bits * (score - shift)); shift + lift is a maximum of earlier
     * scores, raised only if a score exceeds limit = shift + lift + 8 / bits, so that P stays below
     * 2^(8 + bits * lift) and most blocks rescale nothing.  Before the first score limit is -inf. */
    float shift[VF_LANES], limit[VF_LANES], sum[VF_LANES];
    /* ALiBi, by lane: slope, and the row's position minus the lane's key in a vector of P. */
    float slope[VF_LANES];
    ptrdiff_t at[VF_LANES];
};

/* Raises the shift of rows of which a score in s[0, n) exceeds the limit, and rescales sums relative to the
 * old one; P already has weights of `done` keys of this block. */
VF_NOINLINE void raise_shift(struct tile *t, const vf *s, int n, int done)
{
    for (int h = 0; h < t->rows; h++) {
        float m = t->limit[h];
        for (int i = 0; i < n; i++)
            for (int lane = h; lane < VF_LANES; lane += t->rows)
                m = s[i][lane] > m ? s[i][lane] : m;
        if (!(m > t->limit[h]))
            continue;
        const float shift = m - t->lift;
        const float factor = t->limit[h] == -INFINITY ? 0 : exp2f((t->shift[h] - shift) * t->bits);
        for (int lane = h; lane < VF_LANES; lane += t->rows) {
            t->shift[lane] = shift;
            t->limit[lane] = m + 8 / t->bits;
            t->sum[lane] *= factor;
        }
        for (ptrdiff_t key = -t->before; key < done; key++)
            t->p[P_AT(t, key) + h] *= factor;
        for (ptrdiff_t x = 0; x < t->o_floats; x++)
            t->o[h * t->o_floats + x] *= factor;
    }
}

/* ---- from scores to weights ----------------------------------------------------------------- */

/* Which keys of a block the rows of a tile see.  By lane: a bit for each key of the lane's row, from the
 * lane's key in the first vector of P on. */
struct seen {
    vu bits[2]; /* the first 32 keys, and the others */
};

/* Lanes whose row does not see the lane's key in the vector of P that begins with `key`. */
VF_INLINE vi hidden_lanes(const struct seen *seen, int key)
{
    return (vi)(seen->bits[key / 32] >> (key % 32) & 1) - 1;
}

/* Terms of scores besides Q K^T, for the keys of a block (split_kv_terms.h).  Arrays are in the order of P,
 * NULL if absent. */
struct terms {
    const float *k_factor, *v_factor; /* of quantised K and V */
    const struct softcap *cap;
    bool alibi;
    vf slope, apart; /* ALiBi, by lane: slope; distance of the block's first keys from the rows */
    const float *bias;
};

/* A vector of natural scores, beginning with those of `key`, from dot products. */
VF_INLINE vf natural_score(const struct tile *t, const struct terms *terms, vf x, int key)
{
    const int at = key * t->rows;
    x = x * t->unit * t->scale;
    if (terms->k_factor)
        x *= vf_load(terms->k_factor + at);
    if (terms->cap)
        x = softcap_each(terms->cap, x);
    if (terms->alibi)
        x += terms->slope * (terms->apart + (float)key);
    if (terms->bias)
        x += vf_load(terms->bias + at);
    return x;
}

/* Applies V's scales to the weights after these are summed up; those of hidden keys may be NaN. */
VF_INLINE vf scale_weights(const struct tile *t, const struct terms *terms, const struct seen *seen,
                           vf weights, int key)
{
    if (!terms->v_factor)
        return weights;
    weights *= vf_load(terms->v_factor + key * t->rows);
    return seen ? vf_select(hidden_lanes(seen, key), (vf){0}, weights) : weights;
}

/* Appends to P the weights of keys from `key` on, whose dot products are s[0, n).  `seen` NULL: every row
 * sees all of them. */
VF_INLINE void weigh(const bool natural, struct tile *t, vf *s, int n, int key,
                     const struct terms *terms, const struct seen *seen)
{
    const vf limit = vf_load(t->limit);
    vi over = {0};
    for (int i = 0; i < n; i++) {
        s[i] = natural ? natural_score(t, terms, s[i], key + i * t->keys) : s[i] * t->scale;
        if (seen)
            s[i] = vf_select(hidden_lanes(seen, key + i * t->keys), vf_set1(-INFINITY), s[i]);
        over |= ~(vi)(s[i] <= limit); /* NaN, too */
    }
    float *const p = t->p + P_AT(t, key);
    if (__builtin_expect(vi_any(over), 0))
        raise_shift(t, s, n, key);
    const vf shift = vf_load(t->shift);
    vf sum = vf_load(t->sum);
    for (int i = 0; i < n; i++) {
        vf e = natural ? exp_precise(s[i] - shift) : exp2_any(s[i] - shift);
        sum += e;
        if (natural)
            e = scale_weights(t, terms, seen, e, key + i * t->keys);
        vf_store(p + i * P_STEP, e);
    }
    vf_store(t->sum, sum);
}

/* The same of n vectors of scores without terms that every row sees, kept in registers. */
VF_INLINE void weigh_seen(const int n, struct tile *t, vf *s, int key)
{
    const vf limit = vf_load(t->limit), scale = vf_set1(t->scale);
    vf x[GROUP_KEYS * MOST_ROWS / VF_LANES];
    vi within = ~(vi){0};
#pragma GCC unroll 8
    for (int i = 0; i < n; i++) {
        x[i] = s[i] * scale;
        within &= (vi)(x[i] <= limit); /* NaN is not */
    }
    if (__builtin_expect(vi_any(~within), 0)) {
        for (int i = 0; i < n; i++)
            s[i] = x[i];
        raise_shift(t, s, n, key);
    }
    const vf shift = vf_load(t->shift);
    float *const p = t->p + P_AT(t, key);
    vf sum = vf_load(t->sum);
#pragma GCC unroll 8
    for (int i = 0; i < n; i++) {
        const vf e = exp2_any(x[i] - shift);
        sum += e;
        vf_store(p + i * P_STEP, e);
    }
    vf_store(t->sum, sum);
}

/* The same of GROUP_KEYS keys.  (Each height has its own instructions: in L2 and L3 0.97 to 1.01 of the time of a call
 * in 19 of 20 comparisons on Zen 4, 2026-11-30.) */
VF_INLINE void weigh_seen_group(struct tile *t, vf *s, int key)
{
    switch (t->rows) {
    case 1:
        weigh_seen(GROUP_KEYS / VF_LANES, t, s, key);
        break;
    case 2:
        weigh_seen(GROUP_KEYS * 2 / VF_LANES, t, s, key);
        break;
    case 4:
        weigh_seen(GROUP_KEYS * 4 / VF_LANES, t, s, key);
        break;
    default:
        weigh_seen(GROUP_KEYS * MOST_ROWS / VF_LANES, t, s, key);
    }
}

/* (Inlined: calls for each group of keys are 0.7 % of all instructions.) */
VF_INLINE void weigh_in_log2(struct tile *t, vf *s, int n, int key, const struct seen *seen)
{
    const struct terms none = {0};
    weigh(false, t, s, n, key, &none, seen);
}

VF_INLINE void weigh_natural(struct tile *t, vf *s, int n, int key, const struct terms *terms,
                             const struct seen *seen)
{
    weigh(true, t, s, n, key, terms, seen);
}
