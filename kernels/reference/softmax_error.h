/*
 * softmax_error: the weights of the keys that a row of the reference sees, and by how much these, sums over
 * them and their scores may be off (the header comment of reference.c derives it).
 */
#pragma once

#include "reference.h"
#include "visible_keys.h"

#if defined ATTN_COMPUTE_F64
#define SMALLEST_NORMAL 0x1p-1022
#define LARGEST 0x1.fffffffffffffp1023
#define OWN_ROUNDING U /* of what the reference returns: it computes in more than double */
#else
#define SMALLEST_NORMAL 0x1p-126
#define LARGEST 0x1.fffffep127
#define OWN_ROUNDING 0
#endif

static inline bool tied(const struct keys *keys)
{
    const wide near = (wide)keys->scores * U;
    const wide *x = keys->x;
    wide weight = 0, top = 0;
    size_t rivals = 0;
    for (size_t n = 0; n < keys->scores; n++) {
        if (keys->m - x[n] <= near) {
            rivals++;
            top += keys->p[n];
        } else if (n < keys->n && ((n > 0 && fabs(x[n] - x[n - 1]) <= near) ||
                                   (n + 1 < keys->n && fabs(x[n] - x[n + 1]) <= near))) {
            weight += keys->p[n];
        }
    }
    return weight + (rivals > 1 ? top : 0) >= 0.5;
}

static inline bool dominated(const struct keys *keys)
{
    for (size_t n = 0; n < keys->scores; n++)
        if (keys->p[n] > 0.5)
            return true;
    return false;
}

/* g(n) of the header comment. */
static inline wide growth(size_t n, bool aligned)
{
    const wide walk = 6 * sqrt(2 * (wide)n);
    return (aligned || walk > (wide)n ? (wide)n : walk) * U;
}

/* Roundings of a score in units of u s_rj beside those of its sum. */
static inline wide per_score(const struct attn_problem *problem)
{
    return attn_dtype_scaled(problem->kv_dtype) ? 6 : 4;
}

/* Scores as a result, from s_rj. */
static inline void keys_scores(const struct attn_problem *problem, const struct keys *keys,
                               wide factor, struct attn_reference_row *row)
{
    const wide relative = ((wide)problem->qk_dim + per_score(problem)) * U;
    const wide scale = fmax(1, fabs(scale_of(problem)));
    const wide least = (2 * (wide)problem->qk_dim + 4) * scale * SMALLEST_NORMAL;
    for (size_t j = 0; row->scores && j < problem->kv_len; j++) {
        row->scores[j] = -INFINITY;
        row->scores_bound[j] = 0;
    }
    for (size_t n = 0; row->scores && n < keys->n; n++) {
        const wide x = keys->x[n], extra = keys->extra ? keys->extra[n] : 0;
        const wide bound = relative * keys->delta[n] + extra + OWN_ROUNDING * fabs(x) + least;
        row->scores[keys->j[n]] =
            fabs(x) > LARGEST * (1 + (wide)U / 2) ? copysign(INFINITY, x) : (double)x;
        row->scores_bound[keys->j[n]] = (double)(factor * bound);
    }
}

/* s_rj becomes delta_j. */
static inline void find_delta(const struct attn_problem *problem, struct keys *keys, wide g_dim)
{
    const wide relative = g_dim + per_score(problem) * U;
    for (size_t n = 0; n < keys->n; n++)
        keys->delta[n] = relative * (keys->delta[n] + keys->m - keys->x[n]);
    for (size_t n = 0; keys->extra && n < keys->n; n++)
        keys->delta[n] += keys->extra[n];
    if (keys->scores > keys->n) {
        const wide sink = keys->x[keys->n];
        keys->delta[keys->n] = 4 * U * (fabs(sink) + keys->m - sink);
    }
    keys->mean_off = 0;
    for (size_t n = 0; n < keys->scores; n++)
        if (keys->p[n] > 0)
            keys->mean_off += keys->p[n] * keys->delta[n];
}

/* Weights from scores; then delta and the growth factors, which need to know the weights. */
static inline void keys_weigh(const struct attn_problem *problem, struct keys *keys)
{
    wide l = 0;
    for (size_t n = 0; n < keys->scores; n++)
        l += keys->p[n] = exp(keys->x[n] - keys->m);
    keys->l = l;
    for (size_t n = 0; n < keys->scores; n++)
        keys->p[n] /= l;

    const bool aligned = tied(keys);
    keys->g_keys = growth(keys->scores, aligned || dominated(keys));
    find_delta(problem, keys, growth(problem->qk_dim, aligned));
}
