/*
 * visible_keys: the keys that a row of the reference sees, and their scores with what each may be off by.
 *
 * Hidden keys are left out here, once: behind this file a row has a list of keys and no masks,
 * sequences or pages, so that nothing of a hidden key can enter.
 */
#pragma once

#include "wide.h"

/* A row's place: query i of head h of sequence b, and where its rows of the operands are. */
struct place {
    const struct attn_problem *problem;
    const struct attn_tensors *tensors;
    struct attn_sequence sequence;
    size_t b, h, g, i;
    const uint8_t *mask; /* by key; NULL: no boolean mask */
    const void *bias;    /* likewise */
    struct attn_tree tree;
    const int32_t *list; /* of keys; NULL: all */
    wide scale;
};

/* What is known of the keys that a row sees: an entry each, in order, and one more for the sink,
 * which is a key whose value is 0. */
struct keys {
    size_t n;       /* keys */
    size_t scores;  /* keys and sink */
    size_t *j;      /* which key */
    const void **v; /* its row of V */
    const struct place *at;
    wide *x;       /* score */
    wide *p;       /* weight */
    wide *delta;   /* how far x may be off, first s_rj */
    wide *extra;   /* what delta has beside, from softcap, ALiBi and bias; NULL: nothing */
    wide m, l;     /* maximum, sum of exp(x - m) */
    wide mean_off; /* sum_j p_j delta_j */
    wide g_keys;   /* g(Skv) */
};

/* Scratch of a row's dot products, qk_dim each: the query and a key. */
struct dot_scratch {
    wide *q, *k;
};

/* Sums over the keys of the elements of the output: SUMS rows of n, v_dim rounded up for vectors; and behind
 * them SUM_KEYS rows of values, widened. */
enum { SUMS = 4, SUM_KEYS = 16 };
struct sums {
    size_t n;
    wide *o;         /* p v */
    wide *magnitude; /* p |v| */
    wide *off;       /* p delta |v - O|, and to all orders where delta is large */
    wide *largest;   /* max |v| */
    wide *block;
};

static inline size_t sums_row(const struct attn_problem *p)
{
    return (p->v_dim + 31) / 32 * 32;
}

/* Bytes.  Vectors of a widened row are stored and at once loaded again, which takes long where they
 * cross cache lines: 516 us a row instead of 214 (2048 keys, D = 128, bf16; AMD Zen 4, 2026-11-22). */
#define SCRATCH_ALIGN ((size_t)64)

/* As kernels have it: rounded to the type that they compute in. */
static inline wide scale_of(const struct attn_problem *problem)
{
#if defined ATTN_COMPUTE_F64
    return attn_problem_scale_f64(problem);
#else
    return (wide)attn_problem_scale(problem);
#endif
}

static inline struct place place_of(const struct attn_problem *problem,
                                    const struct attn_tensors *t, size_t b, size_t h, size_t i)
{
    const struct attn_sequence s = attn_sequence(problem, t, b);
    return (struct place){
        .problem = problem,
        .tensors = t,
        .sequence = s,
        .b = b,
        .h = h,
        .g = attn_kv_head(problem, h),
        .i = i,
        .mask = problem->mask & ATTN_MASK_BOOL ? attn_row(&t->mask, b, h, i) : NULL,
        .bias = problem->mask & ATTN_MASK_BIAS ? attn_row(&t->bias, b, h, i) : NULL,
        .tree = attn_tree(problem, t, &s, b),
        .list = attn_list(problem, t, b, attn_kv_head(problem, h), i),
        .scale = scale_of(problem),
    };
}

/* What the elements of key j's row of K or V stand for; `scales` and `zeros` belong to it.  V has no scale
 * for each channel. */
static inline void row_of(const struct place *at, const struct attn_tensor *scales,
                          const struct attn_tensor *zeros, const void *row, size_t j, size_t n,
                          wide *to)
{
    const struct attn_problem *p = at->problem;
    const size_t r = at->sequence.kv_first + j;
    widen(row, p->kv_dtype, n, to);
    if (!attn_dtype_scaled(p->kv_dtype))
        return;
    const float *scale = attn_row(scales, at->b, at->g, r);
    const bool channels = scales == &at->tensors->k_scale && scales->stride[3] != 0;
    const size_t width = p->kv_dtype == ATTN_I4 ? p->kv_group : channels ? 1 : n;
    for (size_t d = 0; d < n; d += width) {
        const wide zero = (wide)attn_zero_point(p, zeros, at->b, at->g, r, d);
        const wide factor = (wide)scale[(ptrdiff_t)(d / width) * scales->stride[3]];
        const size_t end = d + width < n ? d + width : n;
        for (size_t e = d; e < end; e++)
            to[e] = (to[e] - zero) * factor;
    }
}

static inline wide bias_of(const struct place *at, size_t j)
{
    wide x = 0;
    const enum attn_dtype dtype = at->tensors->bias.dtype;
    widen((const char *)at->bias + j * attn_dtype_size(dtype), dtype, 1, &x);
    return x;
}

/* Whether a boolean mask, a bias or a tree hides a key that positional masks leave. */
static inline bool hidden(const struct place *at, size_t j)
{
    return (at->tree.parents && !attn_tree_sees(&at->tree, (ptrdiff_t)at->i, (ptrdiff_t)j)) ||
           (at->mask && !at->mask[j]) || (at->bias && bias_of(at, j) == -INFINITY);
}

/* scale * q . k, and *magnitude s_rj. */
static inline wide scaled_dot(const struct place *at, size_t j, const struct dot_scratch *scratch,
                              wide *magnitude)
{
    const struct attn_problem *p = at->problem;
    const struct attn_tensors *t = at->tensors;
    const void *row = attn_kv_row(p, t, &t->k, &at->sequence, at->b, at->g, j);
    row_of(at, &t->k_scale, &t->k_zero, row, j, p->qk_dim, scratch->k);
    const wide x = at->scale * dot(scratch->q, scratch->k, p->qk_dim, magnitude);
    *magnitude *= fabs(at->scale);
    return x;
}

/* softcap(x).  An error of x is multiplied by the slope of tanh, at most that at the point nearest to 0
 * that x may stand for (mean value theorem; D u bounds g(D)). */
static inline wide capped(const struct attn_problem *problem, wide x, wide *magnitude)
{
    const wide c = (wide)problem->softcap;
    const wide off = ((wide)problem->qk_dim + 6) * U * *magnitude;
    const wide slope = 1 / cosh(fmax(fabs(x) - off, 0) / c);
    *magnitude = isinf(x) ? 0 : *magnitude * slope * slope;
    return c * tanh(x / c);
}

/* The score whose scaled product is x; *magnitude becomes what is left of s_rj, *extra is added to
 * delta as it is.  See the header comment of reference.c for the numbers. */
static inline wide with_terms(const struct place *at, size_t j, wide x, wide *magnitude,
                              wide *extra)
{
    const struct attn_problem *p = at->problem;
    *extra = 0;
    if (p->options & ATTN_OPTION_SOFTCAP) {
        x = capped(p, x, magnitude);
        *extra = 4 * U * (wide)p->softcap;
    }
    if (p->options & ATTN_OPTION_ALIBI) {
        const ptrdiff_t position = attn_position(p, (ptrdiff_t)at->i, (ptrdiff_t)at->sequence.q_len,
                                                 (ptrdiff_t)at->sequence.kv_len);
        const wide slope = (wide)((const float *)at->tensors->slopes.data)[at->h];
        const wide distance = (wide)((ptrdiff_t)j - position);
        const wide term = slope * distance;
        x += term;
        *extra += (fabs(distance) > 0.5 / U ? 8 : 4) * U * fabs(term);
    }
    if (at->bias) {
        const wide term = bias_of(at, j);
        x += term;
        *extra += 3 * U * fabs(term);
    }
    if (at->bias || p->options & ATTN_OPTION_ALIBI)
        *extra += 2 * U * fabs(x);
    return x;
}

/* The sink's score, -inf where there is none. */
static inline wide sink_of(const struct place *at)
{
    return at->problem->options & ATTN_OPTION_SINKS
               ? (wide)((const float *)at->tensors->sinks.data)[at->h]
               : -INFINITY;
}

/* Fills in the keys that the row sees, their scores, s_rj (in delta) and the maximum; a NaN score
 * makes every weight NaN.  Where every score is -inf no key has any weight: the row is one that
 * sees no key, as if by the mask. */
static inline void keys_find(struct keys *keys, const struct place *at,
                             const struct dot_scratch *scratch)
{
    const struct attn_problem *p = at->problem;
    const struct attn_tensors *t = at->tensors;
    const struct attn_range seen = attn_visible_in(
        p, (ptrdiff_t)at->i, (ptrdiff_t)at->sequence.q_len, (ptrdiff_t)at->sequence.kv_len);
    const wide sink = sink_of(at);
    const bool masked = at->mask || at->bias || at->tree.parents;
    bool weighty = false;
    const ptrdiff_t lo = at->list ? 0 : seen.lo;
    const ptrdiff_t hi = at->list ? (ptrdiff_t)p->index_count : seen.hi;
    size_t n = 0;
    keys->at = at;
    keys->m = sink > -INFINITY ? sink : -INFINITY;
    for (ptrdiff_t entry = lo; entry < hi; entry++) {
        const size_t j = (size_t)(at->list ? at->list[entry] : entry);
        if (at->list && ((ptrdiff_t)j < seen.lo || (ptrdiff_t)j >= seen.hi))
            continue;
        if (masked && hidden(at, j))
            continue;
        wide x = scaled_dot(at, j, scratch, &keys->delta[n]);
        if (keys->extra)
            x = with_terms(at, j, x, &keys->delta[n], &keys->extra[n]);
        keys->j[n] = j;
        keys->v[n] = attn_kv_row(p, t, &t->v, &at->sequence, at->b, at->g, j);
        keys->x[n] = x;
        keys->m = x > keys->m ? x : keys->m;
        weighty |= x != -INFINITY;
        n++;
    }
    keys->n = keys->scores = weighty ? n : 0;
    if (sink != -INFINITY)
        keys->x[keys->scores++] = sink;
}
