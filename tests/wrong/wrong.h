/*
 * wrong.h: an honest attention kernel in steps, and deliberately wrong ones that change one of them.
 *
 * They are what the check is there for: tests/check/test_wrong.c and test_wrong_options.c say which phase
 * must catch each, test_crashes.c how it must die.  A comment above one says in whose code such a thing was,
 * or could have been, overlooked.
 *
 *     WRONG(NAME, STEP, "what it does wrong")
 *     {
 *         what it does behind that step to a row, `struct work *w`
 *     }
 *
 * is the kernel wrong_NAME, which takes causal masks and windows.  WRONG_OPTION is one that takes all masks
 * and options, and WRONG_SCORE one whose body returns the score of key `j`.  The body of WRONG_CALL and
 * WRONG_OPTION_CALL is a whole call, of `plan` and `tensors`.
 */
#pragma once

#include <stdlib.h>
#include <tgmath.h>

#include "attention.h"
#include "element.h"

/* What kernels compute in and what they take: a file may define both before.  The steps below are compiled
 * once, by honest.c; a file with another type has its own. */
#ifdef WRONG_REAL
#define WRONG_OWN_STEPS 1
#define WRONG_STEP static inline
#else
#define WRONG_OWN_STEPS 0
#define WRONG_REAL float
#define WRONG_STEP __attribute__((visibility("hidden")))
#endif
#ifndef WRONG_DTYPES
#define WRONG_DTYPES (1u << ATTN_F32 | 1u << ATTN_BF16 | 1u << ATTN_F16)
#endif
typedef WRONG_REAL real;

/* One query row on its way through the steps. */
struct work {
    struct attn_problem *problem; /* copies of the row's own, */
    struct attn_tensors *tensors; /* which a step may change */
    int threads;
    struct attn_sequence sequence; /* lengths and first rows of sequence b */
    size_t b, h, i, g;             /* sequence, query head, query, KV head */
    struct attn_range seen;        /* keys that positional masks leave ... */
    bool *shown;                   /* ... those of them that nothing else hides */
    real scale, sink;              /* sink: -inf where there is none */
    real *scores;                  /* of the shown keys; later their weights */
    real *o;                       /* v_dim */
    real m, l;
};

typedef void row_function(struct work *w);

static inline real element(const void *row, enum attn_dtype dtype, size_t d)
{
    switch (dtype) {
    case ATTN_F64:
        return (real)((const double *)row)[d];
    case ATTN_BF16:
        return attn_bf16_to_f32(((const uint16_t *)row)[d]);
    case ATTN_F16:
        return attn_f16_to_f32(((const uint16_t *)row)[d]);
    case ATTN_I8:
    case ATTN_F8E4M3:
    case ATTN_F8E5M2:
        return attn_byte_to_f32(dtype, ((const uint8_t *)row)[d]);
    case ATTN_I4:
        return (real)(int)attn_nibble(row, d);
    case ATTN_BOOL:
        return ((const uint8_t *)row)[d];
    default:
        return (real)((const float *)row)[d];
    }
}

static inline real get(const struct attn_tensor *t, size_t b, size_t h, size_t i, size_t d)
{
    return element(attn_row(t, b, h, i), t->dtype, d);
}

static inline void put(const struct attn_tensor *t, size_t b, size_t h, size_t i, size_t d, real x)
{
    void *row = attn_row(t, b, h, i);
    if (t->dtype == ATTN_BF16)
        ((uint16_t *)row)[d] = attn_f32_to_bf16((float)x);
    else if (t->dtype == ATTN_F16)
        ((uint16_t *)row)[d] = attn_f32_to_f16((float)x);
    else if (t->dtype == ATTN_F64)
        ((double *)row)[d] = (double)x;
    else
        ((float *)row)[d] = (float)x;
}

/* ---- operands ------------------------------------------------------------------------------ */

static inline const void *kv_row(const struct work *w, const struct attn_tensor *kv, ptrdiff_t j)
{
    return attn_kv_row(w->problem, w->tensors, kv, &w->sequence, w->b, w->g, (size_t)j);
}

/* What element d of keys of 8 bits is multiplied by; 1 for others. */
static inline real key_scale(const struct work *w, ptrdiff_t j, size_t d)
{
    const struct attn_tensor *t = &w->tensors->k_scale;
    return attn_dtype_scaled(w->problem->kv_dtype)
               ? get(t, w->b, w->g, w->sequence.kv_first + (size_t)j, d * (size_t)t->stride[3])
               : 1;
}

static inline real value_scale(const struct work *w, ptrdiff_t j)
{
    return attn_dtype_scaled(w->problem->kv_dtype)
               ? get(&w->tensors->v_scale, w->b, w->g, w->sequence.kv_first + (size_t)j, 0)
               : 1;
}

static inline real value(const struct work *w, ptrdiff_t j, size_t d)
{
    return value_scale(w, j) * element(kv_row(w, &w->tensors->v, j), w->tensors->v.dtype, d);
}

static inline bool is_shown(const struct work *w, ptrdiff_t j)
{
    return j >= w->seen.lo && j < w->seen.hi && w->shown[j];
}

static inline real inverse(const struct work *w)
{
    return w->l == 0 ? 0 : 1 / w->l;
}

/* ---- steps --------------------------------------------------------------------------------- */

/* Terms of the score of a key, and the score. */
WRONG_STEP real slope_term(const struct work *w, ptrdiff_t j);
WRONG_STEP real bias_term(const struct work *w, ptrdiff_t j);
WRONG_STEP real capped(const struct work *w, real x);
WRONG_STEP real dot(const struct work *w, ptrdiff_t j);
typedef real score_function(const struct work *w, ptrdiff_t j);

/* Which keys positional masks leave; which of these nothing else hides, and where a list is given in place of
 * the row's own. */
WRONG_STEP void see_keys(struct work *w);
WRONG_STEP void show_keys(struct work *w);
WRONG_STEP void show_list(struct work *w, const int32_t *list);

/* Scores of shown keys, -inf of others; their maximum; exponentials and their sum; sum of values; results. */
WRONG_STEP void make_scores_by(struct work *w, score_function *score);
WRONG_STEP void make_scores(struct work *w);
WRONG_STEP void find_maximum(struct work *w);
WRONG_STEP void exponentiate(struct work *w);
WRONG_STEP void add_value(struct work *w, ptrdiff_t j, real p);
WRONG_STEP void sum_values(struct work *w);
WRONG_STEP void store_lse(struct work *w, real lse);
WRONG_STEP void store(struct work *w);

/* All steps, also with weights added in so many parts, each of every so manieth key. */
WRONG_STEP void honest_row(struct work *w);
WRONG_STEP void sum_in_parts(struct work *w, size_t parts);

/* Behind which step of the row a change comes; ROW: in place of all. */
enum step { BEFORE, SCORES, MAXIMUM, WEIGHTS, SUM, AFTER, ROW };
WRONG_STEP void changed_row(struct work *w, enum step step, row_function *change);

/* Row i of head h of sequence b, where the sequence has so many; every row, in parallel where the plan has
 * threads. */
WRONG_STEP void one_row(const struct attn_plan *plan, const struct attn_tensors *tensors, size_t b,
                        size_t h, size_t i, row_function *row);
WRONG_STEP void each_row(const struct attn_plan *plan, const struct attn_tensors *tensors,
                         row_function *row);

#if WRONG_OWN_STEPS
#include "honest_steps.h"
#endif

/* ---- kernels --------------------------------------------------------------------------------- */

/* A descriptor, whose further members may follow, and the head of its call. */
#define WRONG_CALL_WITH(symbol, says, keys, which, results, kv, ...)                  \
    static void symbol##_execute(const struct attn_plan *plan,                        \
                                 const struct attn_tensors *tensors);                 \
    extern const struct attn_kernel wrong_##symbol;                                   \
    const struct attn_kernel wrong_##symbol = {.size = sizeof(struct attn_kernel),    \
                                               .name = #symbol,                       \
                                               .summary = says,                       \
                                               .source = "tests/wrong",               \
                                               .isa = ATTN_ISA_BASELINE,              \
                                               .caps.size = sizeof(struct attn_caps), \
                                               .caps.dtypes = WRONG_DTYPES,           \
                                               .caps.kv_dtypes = kv,                  \
                                               .caps.masks = keys,                    \
                                               .caps.options = which,                 \
                                               .caps.outputs = results,               \
                                               .caps.forward = true,                  \
                                               .caps.parallel = true,                 \
                                               .execute = symbol##_execute,           \
                                               __VA_ARGS__};                          \
    static void symbol##_execute(const struct attn_plan *plan, const struct attn_tensors *tensors)

/* The same, whose rows change at a step, and the head of the change. */
#define WRONG_WITH(symbol, step, says, keys, which, results, kv, ...)    \
    static row_function symbol##_change;                                 \
    static void symbol##_row(struct work *w)                             \
    {                                                                    \
        changed_row(w, step, symbol##_change);                           \
    }                                                                    \
    WRONG_CALL_WITH(symbol, says, keys, which, results, kv, __VA_ARGS__) \
    {                                                                    \
        each_row(plan, tensors, symbol##_row);                           \
    }                                                                    \
    static void symbol##_change(struct work *w)

#define WRONG_POSITIONAL (ATTN_MASK_CAUSAL | ATTN_MASK_CAUSAL_TOP_LEFT)
#define WRONG_OUTPUTS (ATTN_OUTPUT_O | ATTN_OUTPUT_LSE)

/* What kernels take that know of causal masks and windows, and those that claim all there is. */
#define WRONG_FEW WRONG_POSITIONAL, ATTN_OPTION_WINDOW, WRONG_OUTPUTS, 0
#define WRONG_ALL                                                        \
    WRONG_POSITIONAL | ATTN_MASK_BIAS | ATTN_MASK_BOOL | ATTN_MASK_TREE, \
        ((ATTN_OPTION_SHARED_KV << 1) - 1) | ATTN_OPTION_INDEX,          \
        WRONG_OUTPUTS | ATTN_OUTPUT_WEIGHTS, 1u << ATTN_I8 | 1u << ATTN_F8E4M3 | 1u << ATTN_F8E5M2

/* So that these are seen as four arguments. */
#define WRONG_EXPAND(macro, ...) macro(__VA_ARGS__)

#define WRONG(symbol, step, says, ...) \
    WRONG_EXPAND(WRONG_WITH, symbol, step, says, WRONG_FEW, __VA_ARGS__)
#define WRONG_OPTION(symbol, step, says, ...) \
    WRONG_EXPAND(WRONG_WITH, symbol, step, says, WRONG_ALL, __VA_ARGS__)
#define WRONG_CALL(symbol, says, ...) \
    WRONG_EXPAND(WRONG_CALL_WITH, symbol, says, WRONG_FEW, __VA_ARGS__)
#define WRONG_OPTION_CALL(symbol, says, ...) \
    WRONG_EXPAND(WRONG_CALL_WITH, symbol, says, WRONG_ALL, __VA_ARGS__)

#define WRONG_SCORE(symbol, says)          \
    static score_function symbol##_score;  \
    WRONG_OPTION(symbol, SCORES, says)     \
    {                                      \
        make_scores_by(w, symbol##_score); \
    }                                      \
    static real symbol##_score(const struct work *w, ptrdiff_t j)
