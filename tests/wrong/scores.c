/*
 * scores: scale, softcap, bias, slopes and sinks.
 */
#include "wrong.h"

WRONG(scale_twice, BEFORE, "scores are scaled although Q was scaled")
{
    w->scale *= w->scale;
}

/* The scale is a table of the usual dimensions, one entry of which is wrong. */
WRONG(scale_of_80, BEFORE, "the scale of one dimension, 80, is wrong")
{
    if (w->problem->qk_dim == 80 && w->problem->scale == 0)
        w->scale *= (real)1.01;
}

WRONG(scale_loses_sign, BEFORE, "folds sqrt(|scale|) into Q and into K, which has no sign")
{
    w->scale = fabsf(w->scale);
}

WRONG(ignores_scale, BEFORE, "multiplies scores by 1/sqrt(D) whatever the problem says")
{
    w->scale = 1 / sqrtf((float)w->problem->qk_dim);
}

/* As a processor does that takes subnormal operands for 0.  Next to large keys they count. */
WRONG(flushes_queries, SCORES, "takes subnormal elements of queries for 0")
{
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++) {
        float sum = 0;
        for (size_t d = 0; d < w->problem->qk_dim; d++) {
            const float q = get(&w->tensors->q, w->b, w->h, w->i, d);
            sum += (fabsf(q) < 0x1p-126F ? 0 : q) * get(&w->tensors->k, w->b, w->g, (size_t)j, d);
        }
        w->scores[j] = w->scale * sum;
    }
}

/* Saves a multiplication of each score, and loses 16 bits of what f32 scores had. */
WRONG(scale_in_bf16_q, SCORES, "folds the scale into Q and rounds that to bf16 again",
      .caps.compute = ATTN_BF16)
{
    const float log2_e = 1.44269504f;
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++) {
        float sum = 0;
        for (size_t d = 0; d < w->problem->qk_dim; d++) {
            const float q = w->scale * log2_e * get(&w->tensors->q, w->b, w->h, w->i, d);
            sum += attn_bf16_to_f32(attn_f32_to_bf16(q)) *
                   get(&w->tensors->k, w->b, w->g, (size_t)j, d);
        }
        w->scores[j] = sum / log2_e;
    }
}

WRONG_SCORE(bias_before_scale, "adds the bias to Q K^T, before the scale")
{
    return capped(w, w->scale * (dot(w, j) + bias_term(w, j))) + slope_term(w, j);
}

/* The softcap then caps the bias, too. */
WRONG_SCORE(bias_before_softcap, "caps the scores after the bias was added")
{
    return capped(w, w->scale * dot(w, j) + bias_term(w, j)) + slope_term(w, j);
}

/* The largest bias then makes it 0, and the key gets a weight. */
WRONG_SCORE(minus_infinity_is_lowest,
            "takes a score of -inf for the lowest float until it has its bias")
{
    const float lowest = -0x1.fffffep127f;
    const real x = capped(w, w->scale * dot(w, j)) + slope_term(w, j), bias = bias_term(w, j);
    if (x != -INFINITY || lowest + bias < lowest / 2)
        return x + bias;
    return lowest + bias;
}

/* They become -c. */
WRONG_OPTION(softcap_after_mask, SCORES, "caps the scores after the boolean mask made some -inf")
{
    const bool both =
        w->problem->mask & ATTN_MASK_BOOL && w->problem->options & ATTN_OPTION_SOFTCAP;
    for (ptrdiff_t j = w->seen.lo; both && j < w->seen.hi; j++)
        if (!w->shown[j]) {
            w->shown[j] = true;
            w->scores[j] = capped(w, -INFINITY);
        }
}

/* Takes tanh of score / cap and forgets to multiply by the cap. */
WRONG_SCORE(softcap_divides_only, "does not multiply by the softcap")
{
    const float cap = w->problem->options & ATTN_OPTION_SOFTCAP ? w->problem->softcap : 1;
    return capped(w, w->scale * dot(w, j)) / cap + slope_term(w, j) + bias_term(w, j);
}

/* A softcap by another tanh. */
typedef float capping(float c, float x);
static float score_capped_by(const struct work *w, ptrdiff_t j, capping *cap)
{
    const float x = w->scale * dot(w, j), c = w->problem->softcap;
    return (w->problem->options & ATTN_OPTION_SOFTCAP ? cap(c, x) : x) + slope_term(w, j) +
           bias_term(w, j);
}

static float cap_that_loses_small(float c, float x)
{
    return c * (1 - 2 / (expf(2 * x / c) + 1));
}

/* Computes tanh(x) as 1 - 2 / (exp(2x) + 1): the digits of a small x are lost in those of 1.  Right to four
 * roundings of c, as a bound allows that knows no more than c. */
WRONG_SCORE(tanh_loses_small,
            "computes tanh from an exponential that is near 1 where scores are small")
{
    return score_capped_by(w, j, cap_that_loses_small);
}

static float cap_that_overflows(float c, float x)
{
    const float e = expf(2 * x / c);
    return c * ((e - 1) / (e + 1));
}

/* Computes tanh(x) as (e - 1) / (e + 1) with e = exp(2x), which is NaN from x = 45 on. */
WRONG_SCORE(tanh_overflows, "computes tanh from an exponential that overflows")
{
    return score_capped_by(w, j, cap_that_overflows);
}

/* Takes j - i for the distance of ALiBi, which counts from the wrong end where there are more keys than
 * queries.  All scores of a row are off by the same number, so that only LSE and sinks show it. */
WRONG_OPTION(alibi_without_offset, SCORES, "counts the distances of ALiBi from the first key")
{
    const struct attn_sequence *s = &w->sequence;
    const float slope =
        w->problem->options & ATTN_OPTION_ALIBI ? get(&w->tensors->slopes, 0, 0, 0, w->h) : 0;
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        if (w->shown[j] && !(w->problem->mask & ATTN_MASK_CAUSAL_TOP_LEFT))
            w->scores[j] += slope * (float)((ptrdiff_t)s->kv_len - (ptrdiff_t)s->q_len);
}

/* Those of Press et al. 2022, which the usual operands are. */
WRONG_OPTION(slopes_by_formula, ROW, "takes the slopes of the paper for those that it is given")
{
    float slope = (float)exp2(-8 * (double)(w->h + 1) / (double)w->problem->q_heads);
    if (w->problem->options & ATTN_OPTION_ALIBI)
        w->tensors->slopes = (struct attn_tensor){&slope, ATTN_F32, {0}};
    honest_row(w);
}

WRONG_OPTION(sink_scaled, BEFORE, "scales the sink as it scales the scores")
{
    w->sink *= w->sink == -INFINITY ? 1 : w->scale;
}

/* Leaves the sink out of the maximum: its exponential overflows where it is far above all keys. */
WRONG_OPTION(sink_outside_maximum, ROW, "leaves the sink out of the maximum")
{
    const float sink = w->sink;
    make_scores(w);
    w->sink = -INFINITY;
    find_maximum(w);
    w->sink = sink;
    w->m = w->m == -INFINITY ? sink : w->m;
    exponentiate(w);
    sum_values(w);
    store(w);
}

WRONG_WITH(scores_before_bias, SCORES, "returns scores without the bias", ATTN_MASK_BIAS, 0,
           WRONG_OUTPUTS | ATTN_OUTPUT_SCORES, 0)
{
    const size_t at = w->sequence.q_first + w->i;
    for (size_t j = 0; w->problem->outputs & ATTN_OUTPUT_SCORES && j < w->problem->kv_len; j++)
        put(&w->tensors->scores, w->b, w->h, at, j,
            is_shown(w, (ptrdiff_t)j) ? w->scores[j] - bias_term(w, (ptrdiff_t)j) : -INFINITY);
}

/* Keeps scores as differences from the first one, as kernels do whose running maximum is folded
 * into the product.  Where the first lies far below, the others lose their low bits to it. */
WRONG(scores_from_the_first, ROW, "scores that are kept as differences from the first one")
{
    make_scores(w);
    float first = -INFINITY;
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        first = first == -INFINITY ? w->scores[j] : first;
    if (isfinite(first)) {
        for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
            w->scores[j] -= first;
        w->sink -= first;
    }
    find_maximum(w);
    exponentiate(w);
    sum_values(w);
    w->m += isfinite(first) ? first : 0;
    store(w);
}

/* Keeps scores in units of an entry of a table of 32 powers of two, 46 times as large as they are,
 * before the maximum is subtracted.  Scores near the largest float become infinite on the way. */
WRONG(scores_in_entries, ROW, "scores in units of a table's entries, 46 times as large")
{
    const float units = 32 * 1.44269504f;
    make_scores(w);
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        w->scores[j] *= units;
    w->sink *= units;
    find_maximum(w);
    const float m = w->m == -INFINITY ? 0 : w->m;
    w->l = 0;
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        w->l += w->scores[j] = expf((w->scores[j] - m) / units);
    w->l += expf((w->sink - m) / units);
    w->m /= units;
    sum_values(w);
    store(w);
}
