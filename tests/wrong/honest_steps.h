/*
 * honest_steps.h: the steps that wrong.h declares, which do nothing wrong.
 */
#pragma once

#include "wrong.h"

WRONG_STEP real slope_term(const struct work *w, ptrdiff_t j)
{
    const ptrdiff_t at = attn_position(w->problem, (ptrdiff_t)w->i, (ptrdiff_t)w->sequence.q_len,
                                       (ptrdiff_t)w->sequence.kv_len);
    return w->problem->options & ATTN_OPTION_ALIBI
               ? get(&w->tensors->slopes, 0, 0, 0, w->h) * (real)(j - at)
               : 0;
}

WRONG_STEP real bias_term(const struct work *w, ptrdiff_t j)
{
    return w->problem->mask & ATTN_MASK_BIAS ? get(&w->tensors->bias, w->b, w->h, w->i, (size_t)j)
                                             : 0;
}

WRONG_STEP real capped(const struct work *w, real x)
{
    const real c = w->problem->softcap;
    return w->problem->options & ATTN_OPTION_SOFTCAP ? c * tanh(x / c) : x;
}

WRONG_STEP void see_keys(struct work *w)
{
    w->seen = attn_visible_in(w->problem, (ptrdiff_t)w->i, (ptrdiff_t)w->sequence.q_len,
                              (ptrdiff_t)w->sequence.kv_len);
}

WRONG_STEP void show_keys(struct work *w)
{
    show_list(w, attn_list(w->problem, w->tensors, w->b, w->g, w->i));
}

WRONG_STEP void show_list(struct work *w, const int32_t *list)
{
    const unsigned mask = w->problem->mask;
    const struct attn_tree tree = attn_tree(w->problem, w->tensors, &w->sequence, w->b);
    for (ptrdiff_t j = 0; j < (ptrdiff_t)w->problem->kv_len; j++)
        w->shown[j] =
            !(mask & ATTN_MASK_BOOL && get(&w->tensors->mask, w->b, w->h, w->i, (size_t)j) == 0) &&
            bias_term(w, j) != -INFINITY &&
            !(tree.parents && !attn_tree_sees(&tree, (ptrdiff_t)w->i, j));
    bool *listed = list ? calloc(w->problem->kv_len, sizeof *listed) : NULL;
    for (size_t n = 0; list && n < w->problem->index_count; n++)
        if (list[n] >= 0)
            listed[list[n]] = true;
    for (size_t j = 0; list && j < w->problem->kv_len; j++)
        w->shown[j] &= listed[j];
    free(listed);
}

/* Of rows of one type, which the compiler is told by calling with the constant; in lanes, so that it can
 * use vectors. */
static inline __attribute__((always_inline)) real dot_of(const void *q, const void *k,
                                                         enum attn_dtype dtype, size_t n)
{
    enum { LANES = 8 };
    real lanes[LANES] = {0}, sum = 0;
    size_t d = 0;
    for (; d + LANES <= n; d += LANES)
        for (size_t l = 0; l < LANES; l++)
            lanes[l] += element(q, dtype, d + l) * element(k, dtype, d + l);
    for (; d < n; d++)
        sum += element(q, dtype, d) * element(k, dtype, d);
    for (size_t l = 0; l < LANES; l++)
        sum += lanes[l];
    return sum;
}

WRONG_STEP real dot(const struct work *w, ptrdiff_t j)
{
    const struct attn_tensor *q = &w->tensors->q, *k = &w->tensors->k;
    const void *q_row = attn_row(q, w->b, w->h, w->sequence.q_first + w->i);
    const void *k_row = kv_row(w, k, j);
    const size_t n = w->problem->qk_dim;
    real sum = 0;
    if (q->dtype == ATTN_F32 && k->dtype == ATTN_F32)
        return dot_of(q_row, k_row, ATTN_F32, n);
    if (q->dtype == ATTN_BF16 && k->dtype == ATTN_BF16)
        return dot_of(q_row, k_row, ATTN_BF16, n);
    for (size_t d = 0; d < n; d++)
        sum += element(q_row, q->dtype, d) * (key_scale(w, j, d) * element(k_row, k->dtype, d));
    return sum;
}

WRONG_STEP void make_scores_by(struct work *w, score_function *score)
{
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        w->scores[j] = w->shown[j] ? score(w, j) : -INFINITY;
}

static real honest_score(const struct work *w, ptrdiff_t j)
{
    return capped(w, w->scale * dot(w, j)) + slope_term(w, j) + bias_term(w, j);
}

WRONG_STEP void make_scores(struct work *w)
{
    make_scores_by(w, honest_score);
}

WRONG_STEP void find_maximum(struct work *w)
{
    w->m = w->sink;
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        if (w->shown[j])
            w->m = w->scores[j] > w->m || isnan(w->scores[j]) ? w->scores[j] : w->m;
}

WRONG_STEP void exponentiate(struct work *w)
{
    const real shift = w->m == -INFINITY ? 0 : w->m;
    w->l = 0;
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        if (w->shown[j])
            w->l += w->scores[j] = exp(w->scores[j] - shift);
    w->l += exp(w->sink - shift);
}

/* Adds p times so many elements of a row of values. */
static inline __attribute__((always_inline)) void add_of(real *restrict o, real p, const void *v,
                                                         enum attn_dtype dtype, size_t n)
{
    for (size_t d = 0; d < n; d++)
        o[d] += p * element(v, dtype, d);
}

WRONG_STEP void add_value(struct work *w, ptrdiff_t j, real p)
{
    const struct attn_tensor *v = &w->tensors->v;
    const size_t n = w->problem->v_dim;
    if (v->dtype == ATTN_F32)
        add_of(w->o, p, kv_row(w, v, j), ATTN_F32, n);
    else if (v->dtype == ATTN_BF16)
        add_of(w->o, p, kv_row(w, v, j), ATTN_BF16, n);
    else
        for (size_t d = 0; d < n; d++)
            w->o[d] += p * value(w, j, d);
}

WRONG_STEP void sum_values(struct work *w)
{
    const real factor = inverse(w);
    for (size_t d = 0; d < w->problem->v_dim; d++)
        w->o[d] = 0 * factor; /* a sink may be NaN */
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        if (w->shown[j])
            add_value(w, j, w->scores[j] * factor);
}

WRONG_STEP void store_lse(struct work *w, real lse)
{
    if (w->problem->outputs & ATTN_OUTPUT_LSE)
        put(&w->tensors->lse, w->b, w->h, w->sequence.q_first + w->i, 0, lse);
}

WRONG_STEP void store(struct work *w)
{
    const struct attn_problem *p = w->problem;
    const size_t row = w->sequence.q_first + w->i;
    for (size_t d = 0; p->outputs & ATTN_OUTPUT_O && d < p->v_dim; d++)
        put(&w->tensors->o, w->b, w->h, row, d, w->o[d]);
    for (size_t j = 0; p->outputs & ATTN_OUTPUT_WEIGHTS && j < p->kv_len; j++)
        put(&w->tensors->weights, w->b, w->h, row, j,
            is_shown(w, (ptrdiff_t)j) ? w->scores[j] * inverse(w) : 0);
    store_lse(w, w->l == 0 ? -INFINITY : w->m + log(w->l));
}

WRONG_STEP void changed_row(struct work *w, enum step step, row_function *change)
{
    static row_function *const steps[] = {make_scores, find_maximum, exponentiate, sum_values,
                                          store};
    if (step == BEFORE || step == ROW)
        change(w);
    for (enum step n = SCORES; step != ROW && n <= AFTER; n++) {
        steps[n - SCORES](w);
        if (n == step)
            change(w);
    }
}

WRONG_STEP void honest_row(struct work *w)
{
    make_scores(w);
    find_maximum(w);
    exponentiate(w);
    sum_values(w);
    store(w);
}

WRONG_STEP void sum_in_parts(struct work *w, size_t parts)
{
    make_scores(w);
    find_maximum(w);
    const real m = w->m == -INFINITY ? 0 : w->m;
    w->l = 0;
    for (size_t t = 0; t < parts; t++) {
        real part = 0;
        for (ptrdiff_t j = w->seen.lo + (ptrdiff_t)t; j < w->seen.hi; j += (ptrdiff_t)parts)
            part += w->scores[j] = exp(w->scores[j] - m);
        w->l += part;
    }
    sum_values(w);
    store(w);
}

WRONG_STEP void one_row(const struct attn_plan *plan, const struct attn_tensors *tensors, size_t b,
                        size_t h, size_t i, row_function *row)
{
    struct attn_problem own = plan->problem, *p = &own;
    struct attn_tensors own_tensors = *tensors;
    struct work w = {
        .problem = p,
        .tensors = &own_tensors,
        .threads = plan->threads,
        .sequence = attn_sequence(p, tensors, b),
        .b = b,
        .h = h,
        .i = i,
        .g = attn_kv_head(p, h),
        .scale = sizeof(real) == 8 ? (real)attn_problem_scale_f64(p) : (real)attn_problem_scale(p),
        .sink = p->options & ATTN_OPTION_SINKS ? get(&tensors->sinks, 0, 0, 0, h) : -INFINITY,
    };
    if (i >= w.sequence.q_len)
        return;
    const size_t keys = p->kv_len + p->page_size;               /* some read a last page whole */
    w.scores = malloc((keys + p->v_dim) * sizeof(real) + keys); /* nobody times these */
    w.o = w.scores + keys;
    w.shown = (bool *)(w.o + p->v_dim);
    see_keys(&w);
    show_keys(&w);
    row(&w);
    free(w.scores);
}

WRONG_STEP void each_row(const struct attn_plan *plan, const struct attn_tensors *tensors,
                         row_function *row)
{
    const struct attn_problem *p = &plan->problem;
#pragma omp parallel for collapse(3) num_threads(plan->threads)
    for (size_t b = 0; b < p->batch; b++)
        for (size_t h = 0; h < p->q_heads; h++)
            for (size_t i = 0; i < p->q_len; i++)
                one_row(plan, tensors, b, h, i, row);
}
