/*
 * terms.h: terms of a score besides the dot product, for kernels that work row by row.
 *
 *     softcap(x) + slope * (j - at) + bias_j, unless a mask, a bias of -inf or a tree hides key j
 *
 * A hidden key must have no effect: its score becomes -inf, and its value is not read, since 0 times NaN is
 * NaN.  Scores are natural, not times log2(e) (softmax.h).
 */
#pragma once

#include <math.h>

#include "kernel.h"
#include "rows.h"
#include "simd16.h"
#include "softcap.h"

/* Masks and options with terms. */
#define TERMS_MASKS (ATTN_MASK_BIAS | ATTN_MASK_BOOL | ATTN_MASK_TREE)
#define TERMS_OPTIONS (ATTN_OPTION_SOFTCAP | ATTN_OPTION_ALIBI)

/* The terms of a row. */
struct terms {
    bool any;        /* false: scores do not change */
    bool tree_alone; /* only scores of drafts change */
    bool capped;
    struct softcap cap;
    real slope;
    ptrdiff_t at;     /* the row's position among the keys */
    const char *bias; /* of key 0; NULL: none */
    enum attn_dtype bias_type;
    const uint8_t *mask; /* likewise */
    struct attn_tree tree;
    ptrdiff_t query; /* the row's index among the drafts */
    /* NULL: none; else j below is an index of its entries. */
    const int32_t *list;
    struct attn_range seen; /* with a list: keys that positional masks leave */
};

static inline bool terms_any(const struct attn_problem *problem)
{
    return problem->mask & TERMS_MASKS || problem->options & TERMS_OPTIONS;
}

/* Whether operands may hide keys that positional masks leave. */
static inline bool terms_may_hide(const struct attn_problem *problem)
{
    return problem->mask & TERMS_MASKS;
}

/* The terms of row i of sequence b and head h. */
static inline struct terms terms_of(const struct attn_problem *problem,
                                    const struct attn_tensors *tensors,
                                    const struct attn_sequence *sequence, size_t b, size_t h,
                                    size_t i)
{
    struct terms terms = {.any = terms_any(problem)};
    if (!terms.any)
        return terms;
    terms.tree = attn_tree(problem, tensors, sequence, b);
    terms.query = (ptrdiff_t)i;
    terms.tree_alone = !(problem->mask & TERMS_MASKS & ~(unsigned)ATTN_MASK_TREE) &&
                       !(problem->options & TERMS_OPTIONS);
    terms.capped = problem->options & ATTN_OPTION_SOFTCAP;
    if (terms.capped)
        terms.cap = softcap_natural(problem);
    if (problem->options & ATTN_OPTION_ALIBI) {
        terms.slope = (real)((const float *)tensors->slopes.data)[h];
        terms.at = attn_position(problem, (ptrdiff_t)i, (ptrdiff_t)sequence->q_len,
                                 (ptrdiff_t)sequence->kv_len);
    }
    if (problem->mask & ATTN_MASK_BIAS) {
        terms.bias = attn_row(&tensors->bias, b, h, i);
        terms.bias_type = tensors->bias.dtype;
    }
    if (problem->mask & ATTN_MASK_BOOL)
        terms.mask = attn_row(&tensors->mask, b, h, i);
    return terms;
}

/* Makes j an index of a list's entries, of which positional masks leave the keys in `seen`. */
static inline void terms_choose(struct terms *t, const int32_t *list, struct attn_range seen)
{
    t->any = true;
    t->tree_alone = false;
    t->list = list;
    t->seen = seen;
}

/* Whether some of keys [j, j + n) are drafts of a tree. */
static inline bool terms_has_drafts(const struct terms *t, ptrdiff_t j, ptrdiff_t n)
{
    return t->tree.parents && j + n > t->tree.first;
}

/* Whether scores of keys [j, j + n) may change. */
static inline bool terms_change(const struct terms *t, ptrdiff_t j, ptrdiff_t n)
{
    return t->any && (!t->tree_alone || terms_has_drafts(t, j, n));
}

/* Terms of n <= VF_LANES keys from j on; VF_LANES is passed as a constant.  *hidden: all ones in lanes of
 * hidden keys. */
VF_INLINE vf terms_each(const struct terms *t, ptrdiff_t j, size_t n, vi *hidden)
{
    typedef uint8_t bytes __attribute__((vector_size(VF_LANES)));
    vf added = {0};
    *hidden = (vi){0};
    if (t->slope != 0)
        added = vf_set1(t->slope) *
                (vf_set1((real)(j - t->at)) + __builtin_convertvector(vi_lanes(), vf));
    if (t->bias) {
        const size_t size = attn_dtype_size(t->bias_type);
        const vf bias = vf_load_elements(t->bias_type, t->bias + (size_t)j * size, n);
        *hidden = (vi)(bias == vf_set1(-INFINITY));
        added += bias;
    }
    if (t->mask || terms_has_drafts(t, j, (ptrdiff_t)n)) {
        bytes seen = {0};
        memset(&seen, 1, sizeof seen);
        if (t->mask)
            memcpy(&seen, t->mask + j, n);
        if (terms_has_drafts(t, j, (ptrdiff_t)n))
            attn_tree_hide(&t->tree, t->query, j, (ptrdiff_t)n, (uint8_t *)&seen);
        *hidden |= (vi)(__builtin_convertvector(seen, vi) == 0);
    }
    return added;
}

static inline vf terms_capped(const struct terms *t, vf score)
{
    return t->capped ? softcap_each(&t->cap, score) : score;
}

/* added[0, n): the terms of keys [j, j + n), -inf if hidden. */
static inline void terms_added(const struct terms *t, ptrdiff_t j, ptrdiff_t n, real *added)
{
    const vf minus = vf_set1(-INFINITY);
    vi hidden;
    ptrdiff_t i = 0;
    for (; i + VF_LANES <= n; i += VF_LANES) {
        const vf x = terms_each(t, j + i, VF_LANES, &hidden);
        vf_store(added + i, vf_select(hidden, minus, x));
    }
    if (i < n) {
        const vf x = terms_each(t, j + i, (size_t)(n - i), &hidden);
        vf_store_partial(added + i, vf_select(hidden, minus, x), (size_t)(n - i));
    }
}

VF_INLINE vf terms_score(const struct terms *t, ptrdiff_t j, size_t n, vf score, vi *hidden)
{
    const vf added = terms_each(t, j, n, hidden);
    return vf_select(*hidden, vf_set1(-INFINITY), terms_capped(t, score) + added);
}

/* Whether an operand hides key j, which positional masks leave. */
static inline bool terms_hides(const struct terms *t, ptrdiff_t j)
{
    if (t->mask && !t->mask[j])
        return true;
    if (t->tree.parents && !attn_tree_sees(&t->tree, t->query, j))
        return true;
    if (!t->bias)
        return false;
    if (t->bias_type == ATTN_F32)
        return ((const float *)(const void *)t->bias)[j] == -INFINITY;
    if (REAL_BYTES == 8)
        return ((const double *)(const void *)t->bias)[j] == -INFINITY;
    return ((const uint16_t *)(const void *)t->bias)[j] ==
           (t->bias_type == ATTN_BF16 ? 0xff80 : 0xfc00);
}

/* Whether entry j of a list, or without a list key j, is hidden. */
static inline bool terms_hides_entry(const struct terms *t, ptrdiff_t j)
{
    if (!t->list)
        return terms_hides(t, j);
    const ptrdiff_t key = t->list[j];
    return key < t->seen.lo || key >= t->seen.hi || terms_hides(t, key);
}

/* Adds the terms to scores of entries [j, j + n) of a list; returns whether any is hidden. */
static inline bool terms_apply_listed(const struct terms *t, ptrdiff_t j, ptrdiff_t n, real *scores)
{
    const size_t bias = t->bias ? attn_dtype_size(t->bias_type) : 0;
    bool some = false;
    for (ptrdiff_t i = 0; i < n; i++) {
        const ptrdiff_t key = t->list[j + i];
        if (terms_hides_entry(t, j + i)) {
            scores[i] = -INFINITY;
            some = true;
            continue;
        }
        real x = terms_capped(t, vf_set1(scores[i]))[0] + t->slope * (real)(key - t->at);
        if (t->bias)
            x += vf_load_elements(t->bias_type, t->bias + (size_t)key * bias, 1)[0];
        scores[i] = x;
    }
    return some;
}

/* Adds the terms to scores of keys [j, j + n); returns whether any is hidden. */
static inline bool terms_apply(const struct terms *t, ptrdiff_t j, ptrdiff_t n, real *scores)
{
    vi some = {0}, hidden;
    ptrdiff_t i = 0;
    if (t->list)
        return terms_apply_listed(t, j, n, scores);
    if (!terms_change(t, j, n))
        return false;
    for (; i + VF_LANES <= n; i += VF_LANES) {
        vf_store(scores + i, terms_score(t, j + i, VF_LANES, vf_load(scores + i), &hidden));
        some |= hidden;
    }
    if (i < n) {
        const size_t rest = (size_t)(n - i);
        const vf score = terms_score(t, j + i, rest, vf_load_partial(scores + i, rest), &hidden);
        vf_store_partial(scores + i, score, rest);
        some |= hidden & vi_first(n - i);
    }
    return vi_any(some);
}

/* Sets the weights of hidden keys among [j, j + n) to 0, which division by a sum of NaN would make NaN. */
static inline void terms_clear(const struct terms *t, ptrdiff_t j, ptrdiff_t n, real *weights)
{
    for (ptrdiff_t i = 0; t->any && i < n; i++)
        if (terms_hides_entry(t, j + i))
            weights[i] = 0;
}

/* o += p V over the keys [j, j + n) that are not hidden. */
static inline void terms_weigh(const struct terms *t, ptrdiff_t j, ptrdiff_t n, const real *p,
                               const real *v, ptrdiff_t stride, real *o, size_t dim)
{
    enum { KEYS = 64 };
    for (ptrdiff_t from = 0; from < n; from += KEYS) {
        const ptrdiff_t to = n - from < KEYS ? n : from + KEYS;
        ptrdiff_t which[KEYS], count = 0;
        real weights[KEYS];
        for (ptrdiff_t i = from; i < to; i++) {
            which[count] = i;
            weights[count] = p[i];
            count += !terms_hides_entry(t, j + i);
        }
        row_weigh_some(o, weights, v, stride, which, count, dim);
    }
}
