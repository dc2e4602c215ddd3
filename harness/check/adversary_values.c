/*
 * adversary_values: elements of q, k and v that random numbers do not have.
 */
#include <float.h>
#include <math.h>

#include "adversary_inputs.h"
#include "base/random.h"

const struct adversary_range *adversary_range(const struct trial *trial)
{
    static const struct adversary_range f32 = {(double)FLT_MAX, -126, 88},
                                        f64 = {DBL_MAX, -1022, 709},
                                        f64_of_scales = {(double)FLT_MAX, -1022, 709};
    if (trial->problem.dtype != ATTN_F64)
        return &f32;
    return attn_dtype_scaled(trial->problem.kv_dtype) ? &f64_of_scales : &f64;
}

/* The smallest normal number of the type of K and V, or of their scales. */
static double smallest_normal(enum attn_dtype dtype)
{
    return dtype == ATTN_F16 ? 0x1p-14 : dtype == ATTN_F64 ? 0x1p-1022 : 0x1p-126;
}

void values_subnormal_v(struct trial *trial)
{
    const double size = smallest_normal(trial->problem.kv_dtype) / 8;
    patterns_normal(&trial->set, &trial->problem, PATTERNS_V, trial->key, 0, size);
}

void values_subnormal_qk(struct trial *trial)
{
    for (unsigned n = PATTERNS_Q; n <= PATTERNS_K; n++)
        patterns_normal(&trial->set, &trial->problem, n, trial->key, 0,
                        smallest_normal(trial->problem.kv_dtype) / 8);
}

/* Q is subnormal, K so large that scores are ordinary.  Not where V is part of K. */
void values_subnormal_q(struct trial *trial)
{
    const struct attn_problem *p = &trial->problem;
    const double normal = smallest_normal(p->dtype);
    if (p->options & ATTN_OPTION_SHARED_KV)
        return;
    patterns_normal(&trial->set, p, PATTERNS_Q, random_key(trial->key, PATTERNS_Q), 0, normal / 8);
    patterns_normal(&trial->set, p, PATTERNS_K, random_key(trial->key, PATTERNS_K), 0,
                    0.25 / normal);
}

double adversary_room(const struct trial *trial)
{
    return trial->problem.dtype == ATTN_F16
               ? 60000
               : adversary_range(trial)->largest / (512 * (double)trial->problem.kv_len);
}

/* The largest element of V, or of the K that it is part of, but at least 1. */
static double largest_value(const struct trial *trial)
{
    const struct attn_problem *p = &trial->problem;
    const struct attn_tensors *t = &trial->set.tensors;
    const bool shared = p->options & ATTN_OPTION_SHARED_KV;
    const size_t dims = shared ? p->qk_dim : p->v_dim;
    double most = 1;
    for (struct kv_place at = {0}; kv_reaches(p, t, &at); at.j++)
        for (size_t d = 0; d < dims; d++)
            most = fmax(most, fabs(kv_get(p, t, shared ? KV_K : KV_V, at, d)));
    return most;
}

void adversary_enlarge_v(struct trial *trial)
{
    patterns_scale_v(&trial->set, &trial->problem, adversary_room(trial) / largest_value(trial));
}

void values_large_v(struct trial *trial)
{
    patterns_uniform(&trial->set, &trial->problem, PATTERNS_V, trial->key);
    adversary_enlarge_v(trial);
}

/* Writes NaN into dimensions [from, to) of the special key of every other KV head; where there is only one
 * KV head, into its. */
static void put_nan(struct trial *trial, enum kv_operand operand, size_t from, size_t to,
                    double nan)
{
    const struct attn_problem *p = &trial->problem;
    const struct attn_tensors *t = &trial->set.tensors;
    for (size_t b = 0; b < p->batch; b++)
        for (size_t g = b % 2; g < p->kv_heads; g += 2) {
            const struct kv_place at = {b, g, trial_needle(trial, b, g)};
            for (size_t d = from; at.j < attn_sequence(p, t, b).kv_len && d < to; d++)
                kv_set(p, t, operand, at, d, nan);
        }
}

void values_nan_in_k(struct trial *trial)
{
    put_nan(trial, KV_K, 0, trial->problem.qk_dim, NAN);
}

void values_nan_in_v(struct trial *trial)
{
    put_nan(trial, KV_V, 0, trial->problem.v_dim, NAN);
}

/* 8-bit floats have a NaN of either sign. */
void values_minus_nan_in_v(struct trial *trial)
{
    put_nan(trial, KV_V, 0, trial->problem.v_dim, copysign(NAN, -1));
}

/* A kernel that searches whole vectors for NaN may miss this one. */
void values_nan_in_last_column(struct trial *trial)
{
    put_nan(trial, KV_V, trial->problem.v_dim - 1, trial->problem.v_dim, NAN);
}

/* V of one key of each head is infinite: rows that see it become infinite, others must not change; a
 * kernel that searches for NaN only may get this wrong.  Not where V is part of K, whose scores would be
 * infinite. */
void values_infinity_in_v(struct trial *trial)
{
    const struct attn_problem *p = &trial->problem;
    const struct attn_tensors *t = &trial->set.tensors;
    for (size_t b = 0; b < p->batch; b++)
        for (size_t g = 0; g < p->kv_heads && !(p->options & ATTN_OPTION_SHARED_KV); g++) {
            const size_t keys = attn_sequence(p, t, b).kv_len, number = b + g;
            const struct kv_place at = {b, g, (3 - number % 3) * keys / 4};
            for (size_t d = 0; at.j < keys && d < p->v_dim; d++)
                kv_set(p, t, KV_V, at, d, number % 2 ? -INFINITY : INFINITY);
        }
}

static void set_query_nan(struct trial *trial, size_t b, size_t h)
{
    const struct attn_problem *p = &trial->problem;
    const struct attn_sequence s = attn_sequence(p, &trial->set.tensors, b);
    if (s.q_len)
        tensors_set(&trial->set.tensors.q, b, h, s.q_first + (h * 31 + 17) % s.q_len, p->qk_dim / 2,
                    NAN);
}

/* NaN in one query of each head; its neighbours must not change. */
void values_nan_in_q(struct trial *trial)
{
    const struct attn_problem *p = &trial->problem;
    for (size_t b = 0; b < p->batch; b++)
        for (size_t h = 0; h < p->q_heads; h++)
            set_query_nan(trial, b, h);
}
