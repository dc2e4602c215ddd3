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

#include <stdlib.h>
#include <tgmath.h>

#include "attention.h"
#include "element.h"

/* What it computes in and what it takes: a file may define both before.  The steps below are compiled once, by
 * honest.c; a file with another type has its own. */
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
    const struct attn_problem *problem;
    const struct attn_tensors *tensors;
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

WRONG_STEP real slope_term(const struct work *w, ptrdiff_t j);
WRONG_STEP real bias_term(const struct work *w, ptrdiff_t j);
WRONG_STEP real capped(const struct work *w, real x);
WRONG_STEP void see_keys(struct work *w);
WRONG_STEP void show_keys(struct work *w);
/* The same where a list takes the place of the row's own. */
WRONG_STEP void show_list(struct work *w, const int32_t *list);
WRONG_STEP real dot(const struct work *w, ptrdiff_t j);
/* Scores with this softcap where the problem has one. */
WRONG_STEP void make_capped_scores(struct work *w, real (*cap)(real c, real x));
WRONG_STEP void make_scores(struct work *w);
WRONG_STEP void find_maximum(struct work *w);
/* Scores to exponentials, and their sum. */
WRONG_STEP void exponentiate(struct work *w);
WRONG_STEP void add_value(struct work *w, ptrdiff_t j, real p);
WRONG_STEP void sum_values(struct work *w);
WRONG_STEP void store_lse(struct work *w, real lse);
WRONG_STEP void store(struct work *w);
/* All steps, with weights added in so many parts, each of every so manieth key. */
WRONG_STEP void sum_in_parts(struct work *w, size_t parts);
WRONG_STEP void honest_row(struct work *w);
/* Row i of head h of sequence b, where the sequence has so many. */
WRONG_STEP void one_row(const struct attn_problem *p, const struct attn_tensors *tensors, size_t b,
                        size_t h, size_t i, row_function *row);
/* Every row, in parallel where the plan has threads; a scratch row of scores each. */
WRONG_STEP void each_row(const struct attn_plan *plan, const struct attn_tensors *tensors,
                         row_function *row);

#if WRONG_OWN_STEPS
#include "honest_steps.h"
#endif

/* The descriptor of the file's kernel; further members may follow. */
#define WRONG_KERNEL_WITH(symbol, says, keys, which, results, kv, ...)                \
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
                                               .execute = execute,                    \
                                               __VA_ARGS__}

#define WRONG_POSITIONAL (ATTN_MASK_CAUSAL | ATTN_MASK_CAUSAL_TOP_LEFT)
#define WRONG_OUTPUTS (ATTN_OUTPUT_O | ATTN_OUTPUT_LSE)

/* One that knows of causal masks and windows, and one that claims all there is. */
#define WRONG_KERNEL(symbol, says, ...)                                                     \
    WRONG_KERNEL_WITH(symbol, says, WRONG_POSITIONAL, ATTN_OPTION_WINDOW, WRONG_OUTPUTS, 0, \
                      __VA_ARGS__)
#define WRONG_WHOLE_KERNEL(symbol, says, ...)                                              \
    WRONG_KERNEL_WITH(symbol, says,                                                        \
                      WRONG_POSITIONAL | ATTN_MASK_BIAS | ATTN_MASK_BOOL | ATTN_MASK_TREE, \
                      ((ATTN_OPTION_SHARED_KV << 1) - 1) | ATTN_OPTION_INDEX,              \
                      WRONG_OUTPUTS | ATTN_OUTPUT_WEIGHTS,                                 \
                      1u << ATTN_I8 | 1u << ATTN_F8E4M3 | 1u << ATTN_F8E5M2, __VA_ARGS__)

#endif
