/*
 * scales: scales of keys and values of 8 bits, and integers.
 */
#include "wrong.h"

WRONG_SCORE(k_scale_of_the_next_token, "multiplies each key of 8 bits by the scale of the next one")
{
    const ptrdiff_t next = (j + 1) % (ptrdiff_t)w->sequence.kv_len;
    const void *q = attn_row(&w->tensors->q, w->b, w->h, w->sequence.q_first + w->i);
    const void *k = kv_row(w, &w->tensors->k, j);
    float sum = 0;
    for (size_t d = 0; d < w->problem->qk_dim; d++)
        sum += element(q, w->tensors->q.dtype, d) * key_scale(w, next, d) *
               element(k, w->tensors->k.dtype, d);
    return capped(w, w->scale * sum) + slope_term(w, j) + bias_term(w, j);
}

WRONG_OPTION(v_scale_missing, BEFORE, "takes values of 8 bits as they are")
{
    static float one = 1;
    w->tensors->v_scale = (struct attn_tensor){&one, ATTN_F32, {0, 0, 0, 0}};
}

/* Divides the scales of int8 values by that of the first key, which it applies last: 0 / 0 where
 * that is 0. */
WRONG_OPTION(v_scale_relative_to_first, SUM, "divides scales of V by that of the first key")
{
    const float first = w->seen.lo < w->seen.hi ? value_scale(w, w->seen.lo) : 1;
    for (size_t d = 0; !isnan(first) && d < w->problem->v_dim; d++)
        w->o[d] = w->o[d] / first * first;
}

/* Takes the bytes of int8 keys and values for unsigned ones. */
WRONG_OPTION(int8_taken_for_unsigned, BEFORE, "takes int8 for unsigned bytes")
{
    if (w->tensors->k.dtype == ATTN_I8)
        w->tensors->k.dtype = w->tensors->v.dtype = ATTN_BOOL;
}

/* As tricks do that multiply unsigned bytes by signed ones. */
WRONG_SCORE(int8_negated, "changes the sign of int8 keys in a byte, where -128 stays -128")
{
    const struct attn_tensor *q = &w->tensors->q, *k = &w->tensors->k;
    const void *q_row = attn_row(q, w->b, w->h, w->sequence.q_first + w->i);
    const int8_t *k_row = kv_row(w, k, j);
    float sum = 0;
    for (size_t d = 0; k->dtype == ATTN_I8 && d < w->problem->qk_dim; d++)
        sum -= element(q_row, q->dtype, d) * key_scale(w, j, d) * (float)(int8_t)(uint8_t)-k_row[d];
    return capped(w, w->scale * (k->dtype == ATTN_I8 ? sum : dot(w, j))) + slope_term(w, j) +
           bias_term(w, j);
}

/* O of values of 8 bits as elements times `unit` and `factor` of their keys and weights. */
static void sum_elements(struct work *w, real unit, real factor(const struct work *w, ptrdiff_t j))
{
    make_scores(w);
    find_maximum(w);
    exponentiate(w);
    for (size_t d = 0; d < w->problem->v_dim; d++)
        w->o[d] = 0 * inverse(w);
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++) {
        const void *v = kv_row(w, &w->tensors->v, j);
        const real p = w->shown[j] ? factor(w, j) : 0;
        for (size_t d = 0; w->shown[j] && d < w->problem->v_dim; d++)
            w->o[d] += p * (unit * element(v, w->tensors->v.dtype, d));
    }
}

static real flushed(const struct work *w, ptrdiff_t j)
{
    const real p = w->scores[j] * inverse(w) * value_scale(w, j);
    return fabs(p) < 0x1p-126F ? 0 : p;
}

/* As a matrix unit does that takes subnormal numbers for 0. */
WRONG_OPTION(scaled_weights_flushed, ROW, "takes weights times V's scale for 0 below 2^-126")
{
    sum_elements(w, 1, flushed);
    store(w);
}

static real unit_of(const struct work *w)
{
    return attn_dtype_scaled(w->problem->kv_dtype) ? 0x1p16F : 1;
}

static real enlarged(const struct work *w, ptrdiff_t j)
{
    return w->scores[j] * inverse(w) * (value_scale(w, j) * unit_of(w));
}

/* So that elements of any type of 8 bits are below 1. */
WRONG_OPTION(scaled_weights_overflow, ROW,
             "multiplies scales of V by 2^16 and divides elements by it")
{
    sum_elements(w, 1 / unit_of(w), enlarged);
    store(w);
}

static real unscaled(const struct work *w, ptrdiff_t j)
{
    const bool own = w->tensors->v_scale.stride[2] != 0;
    return w->scores[j] * inverse(w) * (own ? value_scale(w, j) : 1);
}

/* One multiplication a result, not one a value; a finite sum of values of both signs is made infinite. */
WRONG_OPTION(v_scale_outside_the_sum, ROW, "multiplies results by the scale of a head's values")
{
    sum_elements(w, 1, unscaled);
    const bool own = w->tensors->v_scale.stride[2] != 0;
    for (size_t d = 0; !own && w->seen.lo < w->seen.hi && d < w->problem->v_dim; d++)
        w->o[d] *= value_scale(w, w->seen.lo);
    store(w);
}

/* One multiplication a key in place of one an element. */
WRONG_SCORE(k_scale_outside_the_sum, "multiplies a key's sum of products by its scale")
{
    const struct attn_tensor *q = &w->tensors->q, *k = &w->tensors->k;
    const void *q_row = attn_row(q, w->b, w->h, w->sequence.q_first + w->i);
    const void *k_row = kv_row(w, k, j);
    const bool channels = w->tensors->k_scale.stride[3] != 0;
    real sum = 0;
    for (size_t d = 0; d < w->problem->qk_dim; d++)
        sum += element(q_row, q->dtype, d) * element(k_row, k->dtype, d) *
               (channels ? key_scale(w, j, d) : 1);
    return capped(w, w->scale * sum * (channels ? 1 : key_scale(w, j, 0))) + slope_term(w, j) +
           bias_term(w, j);
}

/* Splits queries times the scales of K's channels into their upper and lower bits.  Where these are 0 an
 * infinite key makes them NaN. */
WRONG_SCORE(scaled_query_in_parts, "multiplies keys of 8 bits by two parts of a query, one maybe 0")
{
    const struct attn_tensor *q = &w->tensors->q, *k = &w->tensors->k;
    const void *q_row = attn_row(q, w->b, w->h, w->sequence.q_first + w->i);
    const void *k_row = kv_row(w, k, j);
    real sum = 0;
    for (size_t d = 0; d < w->problem->qk_dim; d++) {
        const real x = element(q_row, q->dtype, d) * key_scale(w, j, d);
        const bool whole = !attn_dtype_scaled(k->dtype) || !isfinite(x);
        const real upper = whole ? x : attn_bits_float(attn_float_bits(x) & 0xffff0000);
        sum += upper * element(k_row, k->dtype, d);
        sum += whole ? 0 : (x - upper) * element(k_row, k->dtype, d);
    }
    return capped(w, w->scale * sum) + slope_term(w, j) + bias_term(w, j);
}

/* Where the product is too small for a float, an infinite key makes it NaN. */
WRONG_SCORE(scaled_query_vanishes, "multiplies queries by the scales of channels, which may give 0")
{
    const struct attn_tensor *q = &w->tensors->q, *k = &w->tensors->k;
    const void *q_row = attn_row(q, w->b, w->h, w->sequence.q_first + w->i);
    const void *k_row = kv_row(w, k, j);
    real sum = 0;
    for (size_t d = 0; d < w->problem->qk_dim; d++)
        sum += element(q_row, q->dtype, d) * key_scale(w, j, d) * element(k_row, k->dtype, d);
    return capped(w, w->scale * sum) + slope_term(w, j) + bias_term(w, j);
}
