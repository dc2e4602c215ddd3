/*
 * query.h: one query against the keys of its sequence, for kernels that work row by row.
 *
 * The two products handle all options: layouts and types of keys (keys.h), terms besides the dot product
 * (terms.h), and hidden keys, which have no effect.
 */
#pragma once

#include "keys.h"
#include "rows.h"
#include "terms.h"

struct query {
    struct keys keys;
    struct terms terms;
    struct attn_range seen; /* by positional masks; with a list of keys, all its entries */
    real scale;
    size_t h, row; /* query head, and row in q, o, lse and weights */
};

/* Query i of sequence b; false: the sequence has fewer. */
static inline bool query_find(struct query *query, const struct attn_problem *problem,
                              const struct attn_tensors *tensors, size_t b, size_t h, size_t i)
{
    const struct attn_sequence s = attn_sequence(problem, tensors, b);
    if (i >= s.q_len)
        return false;
    const size_t g = attn_kv_head(problem, h);
    const int32_t *list = attn_list(problem, tensors, b, g, i);
    *query = (struct query){
        .keys = {problem, tensors, s, b, g, list},
        .terms = terms_of(problem, tensors, &s, b, h, i),
        .seen = attn_visible_in(problem, (ptrdiff_t)i, (ptrdiff_t)s.q_len, (ptrdiff_t)s.kv_len),
        .scale = attn_scale_real(problem),
        .h = h,
        .row = s.q_first + i,
    };
    if (list) {
        terms_choose(&query->terms, list, query->seen);
        query->seen = (struct attn_range){0, (ptrdiff_t)problem->index_count};
    }
    return true;
}

/* The query's row of Q or of a result. */
static inline real *query_row(const struct query *query, const struct attn_tensor *t)
{
    return attn_row_real(t, query->keys.b, query->h, query->row);
}

/* Most scores of a row. */
static inline size_t query_most(const struct attn_problem *problem)
{
    return problem->options & ATTN_OPTION_INDEX ? problem->index_count : problem->kv_len;
}

/* Reals in `copy` below, for at most n keys per call. */
static inline size_t query_copy_reals(const struct attn_problem *problem, size_t n)
{
    return keys_copied(problem) ? keys_room(problem, n) : 0;
}

/* scores[0, n) of keys [j, j + n), n > 0, -inf if hidden; returns whether any is hidden. */
static inline bool query_scores(const struct query *query, ptrdiff_t j, ptrdiff_t n, real *copy,
                                real *scores)
{
    const struct attn_tensors *t = query->keys.tensors;
    const size_t dim = query->keys.problem->qk_dim;
    ptrdiff_t stride;
    const real *k = keys_reals(&query->keys, &t->k, j, n, dim, copy, &stride);
    row_scores(query_row(query, &t->q), k, stride, n, dim, query->scale, scores);
    return terms_apply(&query->terms, j, n, scores);
}

/* o += p V over keys [j, j + n), n > 0, without hidden ones. */
static inline void query_weigh(const struct query *query, bool hidden, ptrdiff_t j, ptrdiff_t n,
                               real *copy, const real *p, real *o)
{
    const size_t dim = query->keys.problem->v_dim;
    ptrdiff_t stride;
    const real *v = keys_reals(&query->keys, &query->keys.tensors->v, j, n, dim, copy, &stride);
    if (hidden)
        terms_weigh(&query->terms, j, n, p, v, stride, o, dim);
    else
        row_weigh(o, p, v, stride, n, dim);
}
