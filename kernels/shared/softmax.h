/*
 * softmax.h: maximum, exponentials and normalisation of a row of scores, for kernel files only.
 *
 * Scores are natural (softmax_exp), or times log2(e), which softmax_scale() includes, so that e^x is 2^x
 * (softmax_exp2). The latter are not for scores with a bias, which may be as large as a float can be and
 * would become infinite.  Corner cases in every kernel that uses these functions:
 *
 *   no visible key, or all scores -inf   l = 0: O = 0, LSE = -inf
 *   a score of NaN, or of +inf           its exponential is NaN, so l and the whole row are NaN
 *   a sink                               one more score, before those of all keys; of NaN, it makes l and the
 *                                        row NaN, even if that sees no key
 */
#pragma once

#include <tgmath.h>

#include "kernel.h"
#include "simd_reduce.h"
#if REAL_BYTES == 8
#include "exp_f64.h"
#else
#include "exp2.h"
#endif

/* The number to subtract from scores with maximum m; not -inf, as -inf - -inf is NaN. */
static inline real softmax_shift(real m)
{
    return m == -INFINITY ? 0 : m;
}

static inline vf softmax_shift_each(vf m)
{
    return vf_select((vi)(m == vf_set1(-INFINITY)), (vf){0}, m);
}

/* The largest of x[0, n) and m, ignoring NaN. */
static inline real softmax_max(const real *x, ptrdiff_t n, real m)
{
    vf largest = vf_set1(m);
    ptrdiff_t j = 0;
    for (; j + VF_LANES <= n; j += VF_LANES)
        largest = vf_max(vf_load(x + j), largest);
    m = vf_hmax(largest);
    for (; j < n; j++)
        m = x[j] > m ? x[j] : m;
    return m;
}

/* Terms per partial sum, so that rounding errors grow with the number of partial sums, not of terms. */
#define SOFTMAX_BLOCK ((ptrdiff_t)1024)

/* Replaces x[0, n) by power(x - shift); returns their sum. */
VF_INLINE real softmax_powers(real *x, ptrdiff_t n, real shift, vf (*power)(vf x))
{
    vf sum = {0};
    ptrdiff_t j = 0;
    while (j + VF_LANES <= n) {
        const ptrdiff_t end = n - j < SOFTMAX_BLOCK ? n : j + SOFTMAX_BLOCK;
        vf part = {0};
        for (; j + VF_LANES <= end; j += VF_LANES) {
            const vf p = power(vf_load(x + j) - vf_set1(shift));
            vf_store(x + j, p);
            part += p;
        }
        sum += part;
    }
    if (j < n) {
        const size_t rest = (size_t)(n - j);
        const vf p = power(vf_load_partial(x + j, rest) - vf_set1(shift));
        vf_store_partial(x + j, p, rest);
        sum += vf_select(vi_first(n - j), p, (vf){0});
    }
    return vf_hsum(sum);
}

/* Replaces x[0, n) by e^(x - shift); returns their sum. */
static inline real softmax_exp(real *x, ptrdiff_t n, real shift)
{
    return softmax_powers(x, n, shift, exp_precise);
}

/* The sink of query head h, a score without a key; -inf: none. */
static inline real softmax_sink(const struct attn_problem *problem,
                                const struct attn_tensors *tensors, size_t h)
{
    return problem->options & ATTN_OPTION_SINKS ? (real)((const float *)tensors->sinks.data)[h]
                                                : -INFINITY;
}

/* The sink's exponential; m: the row's maximum, including the sink. */
static inline real softmax_sink_exp(real sink, real m)
{
    return sink == -INFINITY ? 0 : exp(sink - m);
}

/* Adds a sink to m and l of a row, in natural units.  Returns the factor from sums relative to the old m to
 * results: relative to the new m and divided by the new l. */
static inline double softmax_add_sink(double sink, double *m, double *l)
{
    const double old = *l == 0 ? -INFINITY : *m;
    *m = old > sink ? old : sink; /* the sink if m is NaN */
    *l = *l * exp(old - *m) + exp(sink - *m);
    return exp(old - *m) / *l;
}

/* 1 / l; 0 for a row that sees no key. */
static inline real softmax_inverse(real l)
{
    return l == 0 ? 0 : 1 / l;
}

/* LSE, the natural logarithm of the sum of exponentials, from m and l. */
static inline real softmax_log(real m, real l)
{
    return m + log(l);
}

#if REAL_BYTES == 4
/* ---- base 2 -------------------------------------------------------------------------------- */

#define SOFTMAX_LOG2E 1.44269504088896341f

/* The factor of scores: the problem's scale times log2(e). */
static inline float softmax_scale(const struct attn_problem *problem)
{
    return attn_problem_scale(problem) * SOFTMAX_LOG2E;
}

/* Replaces x[0, n) by 2^(x - shift); returns their sum. */
static inline float softmax_exp2(float *x, ptrdiff_t n, float shift)
{
    return softmax_powers(x, n, shift, exp2_precise);
}

#endif
