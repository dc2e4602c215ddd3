/*
 * wrong.h: an honest attention kernel in steps, for kernels that do one of them wrong.
 *
 * Each file of this folder is one deliberately wrong kernel with the ordinary descriptor: what the
 * check is there for.  Its header comment says what is wrong and in whose code such a thing was, or
 * could have been, overlooked.  tests/check/test_wrong.c says which phase of the check must catch it
 * (test_crashes.c: how it must die).
 */
#ifndef TESTS_WRONG_H
#define TESTS_WRONG_H

#include <math.h>
#include <stdlib.h>

#include "attention.h"
#include "element.h"

/* One query row on its way through the steps. */
struct work {
    const struct attn_problem *problem;
    const struct attn_tensors *tensors;
    size_t b, h, i, g;      /* sequence, query head, query, KV head */
    struct attn_range seen; /* keys */
    float scale;
    float *scores; /* kv_len; later the weights */
    float *o;      /* v_dim */
    float m, l;
};

typedef void row_function(struct work *w);

static inline float get(const struct attn_tensor *t, size_t b, size_t h, size_t i, size_t d)
{
    const void *row = attn_row(t, b, h, i);
    if (t->dtype == ATTN_BF16)
        return attn_bf16_to_f32(((const uint16_t *)row)[d]);
    if (t->dtype == ATTN_F16)
        return attn_f16_to_f32(((const uint16_t *)row)[d]);
    return ((const float *)row)[d];
}

static inline void put(const struct attn_tensor *t, size_t b, size_t h, size_t i, size_t d, float x)
{
    void *row = attn_row(t, b, h, i);
    if (t->dtype == ATTN_BF16)
        ((uint16_t *)row)[d] = attn_f32_to_bf16(x);
    else if (t->dtype == ATTN_F16)
        ((uint16_t *)row)[d] = attn_f32_to_f16(x);
    else
        ((float *)row)[d] = x;
}

static inline float value(const struct work *w, ptrdiff_t j, size_t d)
{
    return get(&w->tensors->v, w->b, w->g, (size_t)j, d);
}

static inline void make_scores(struct work *w)
{
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++) {
        float sum = 0;
        for (size_t d = 0; d < w->problem->qk_dim; d++)
            sum += get(&w->tensors->q, w->b, w->h, w->i, d) *
                   get(&w->tensors->k, w->b, w->g, (size_t)j, d);
        w->scores[j] = w->scale * sum;
    }
}

static inline void find_maximum(struct work *w)
{
    w->m = -INFINITY;
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        w->m = w->scores[j] > w->m || isnan(w->scores[j]) ? w->scores[j] : w->m;
}

/* Scores to exponentials, and their sum. */
static inline void exponentiate(struct work *w)
{
    w->l = 0;
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        w->l += w->scores[j] = expf(w->scores[j] - w->m);
}

static inline void sum_values(struct work *w)
{
    const float inverse = w->seen.lo < w->seen.hi ? 1 / w->l : 0;
    for (size_t d = 0; d < w->problem->v_dim; d++)
        w->o[d] = 0;
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        for (size_t d = 0; d < w->problem->v_dim; d++)
            w->o[d] += w->scores[j] * inverse * value(w, j, d);
}

static inline void store(struct work *w)
{
    for (size_t d = 0; w->problem->outputs & ATTN_OUTPUT_O && d < w->problem->v_dim; d++)
        put(&w->tensors->o, w->b, w->h, w->i, d, w->o[d]);
    if (w->problem->outputs & ATTN_OUTPUT_LSE)
        put(&w->tensors->lse, w->b, w->h, w->i, 0,
            w->seen.lo < w->seen.hi ? w->m + logf(w->l) : -INFINITY);
}

static inline void honest_row(struct work *w)
{
    make_scores(w);
    find_maximum(w);
    exponentiate(w);
    sum_values(w);
    store(w);
}

/* Every row, in parallel where the plan has threads; a scratch row of scores each. */
static inline void each_row(const struct attn_plan *plan, const struct attn_tensors *tensors,
                            row_function *row)
{
    const struct attn_problem *p = &plan->problem;
    const size_t rows = p->batch * p->q_heads * p->q_len;
#pragma omp parallel for num_threads(plan->threads)
    for (size_t n = 0; n < rows; n++) {
        struct work w = {
            .problem = p,
            .tensors = tensors,
            .b = n / p->q_len / p->q_heads,
            .h = n / p->q_len % p->q_heads,
            .i = n % p->q_len,
            .scale = attn_problem_scale(p),
            .scores = malloc((p->kv_len + p->v_dim) * sizeof(float)), /* nobody times these */
        };
        w.o = w.scores + p->kv_len;
        w.g = attn_kv_head(p, w.h);
        w.seen = attn_visible(p, (ptrdiff_t)w.i);
        row(&w);
        free(w.scores);
    }
}

/* The descriptor of the file's kernel; further members may follow. */
#define WRONG_KERNEL(symbol, says, ...)                                   \
    extern const struct attn_kernel wrong_##symbol;                       \
    const struct attn_kernel wrong_##symbol = {                           \
        .size = sizeof(struct attn_kernel),                               \
        .name = #symbol,                                                  \
        .summary = says,                                                  \
        .source = "tests/wrong",                                          \
        .isa = ATTN_ISA_BASELINE,                                         \
        .caps.size = sizeof(struct attn_caps),                            \
        .caps.dtypes = 1u << ATTN_F32 | 1u << ATTN_BF16 | 1u << ATTN_F16, \
        .caps.masks = ATTN_MASK_CAUSAL | ATTN_MASK_CAUSAL_TOP_LEFT,       \
        .caps.options = ATTN_OPTION_WINDOW,                               \
        .caps.outputs = ATTN_OUTPUT_O | ATTN_OUTPUT_LSE,                  \
        .caps.forward = true,                                             \
        .caps.parallel = true,                                            \
        .execute = execute,                                               \
        __VA_ARGS__}

#endif
