/*
 * weights: weights, their sum, P V, and the order of sums.
 */
#include "wrong.h"

static void round_weights_to_bf16(struct work *w)
{
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        w->scores[j] = attn_bf16_to_f32(attn_f32_to_bf16(w->scores[j]));
}

/* As multiply-adds of bf16 need. */
WRONG(honest_bf16, WEIGHTS, "weights are rounded to bf16, and it says so",
      .caps.compute = ATTN_BF16)
{
    round_weights_to_bf16(w);
}

/* With caches of 8 bits; in 8 bits whatever the exponent. */
WRONG_OPTION(honest_bf16_cache, WEIGHTS, "weights times scales are rounded to bf16, and it says so",
             .caps.compute = ATTN_BF16)
{
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++) {
        int exponent;
        const double x = frexp((double)w->scores[j] * (double)value_scale(w, j), &exponent);
        if (x != 0 && isfinite(x))
            w->scores[j] *= attn_bf16_to_f32(attn_f32_to_bf16((float)x)) / (float)x;
    }
}

WRONG(p_in_bf16, WEIGHTS, "weights are rounded to bf16, but it claims f32")
{
    round_weights_to_bf16(w);
}

WRONG(p_in_f16, WEIGHTS, "weights are kept in half precision, which doubles a SIMD unit's rate")
{
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        w->scores[j] = attn_f16_to_f32(attn_f32_to_f16(w->scores[j]));
}

/* Weights keep 11 bits, as some matrix units take them.  Their exponents are those of f32, so that
 * a row whose weight many keys share stays in its bound. */
WRONG(p_in_tf32, WEIGHTS, "weights keep 11 bits")
{
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        w->scores[j] = attn_bits_float((attn_float_bits(w->scores[j]) + 0x1000) & ~0x1fffu);
}

/* The sum of the weights is kept in bf16, where from some keys on it grows no more; P V is in f32.
 * So it comes out where a type of storage is taken for that of a variable. */
WRONG(sum_in_bf16, WEIGHTS, "the sum of the weights is kept in bf16")
{
    float sum = 0;
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        sum = attn_bf16_to_f32(attn_f32_to_bf16(sum + (w->shown[j] ? w->scores[j] : 0)));
    w->l = sum;
}

/* Keeps the sum of the weights in whole multiples of 2^-20, which loses all that a key far below
 * the maximum adds.  Behind a sink those add up; where many keys share the weight nobody sees it. */
WRONG_OPTION(sum_in_fixed_point, WEIGHTS,
             "keeps the sum of the weights in whole multiples of 2^-20")
{
    int64_t sum = isnan(w->l) ? 0 : llrintf(expf(w->sink - w->m) * 0x1p20f);
    for (ptrdiff_t j = w->seen.lo; !isnan(w->l) && w->l > 0 && j < w->seen.hi; j++)
        sum += w->shown[j] ? llrintf(w->scores[j] * 0x1p20f) : 0;
    w->l = isnan(w->l) || w->l == 0 ? w->l : (float)sum * 0x1p-20f;
}

/* The last three weights are added to the sum a second time, as if a vector's lanes beyond the
 * keys were those of the one before; P V is right. */
WRONG(sum_counts_twice, WEIGHTS, "the last weights are added to their sum twice")
{
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        w->l += w->shown[j] && j + 3 >= w->seen.hi ? w->scores[j] : 0;
}

WRONG(weights_scaled_up, ROW, "keeps weights times 2^16 to save what underflows, until V is large")
{
    make_scores(w);
    find_maximum(w);
    w->m -= 11.09035489f; /* log 2^16 */
    exponentiate(w);
    for (size_t d = 0; d < w->problem->v_dim; d++)
        w->o[d] = 0;
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        for (size_t d = 0; d < w->problem->v_dim; d++)
            w->o[d] += w->scores[j] * value(w, j, d);
    for (size_t d = 0; d < w->problem->v_dim; d++)
        w->o[d] /= w->l > 0 ? w->l : 1;
    store(w);
}

/* Leaves out keys whose score is more than 14 below the maximum, as kernels for long contexts do.
 * Such a key weighs less than 1e-6, but behind a sink all keys are such. */
WRONG_OPTION(drops_small_weights, MAXIMUM, "leaves out weights below e^-14")
{
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        w->shown[j] = w->shown[j] && !(w->scores[j] < w->m - 14);
}

WRONG(one_of_a_tie, WEIGHTS,
      "keeps only the first of equal scores, as a selection of the largest might")
{
    for (ptrdiff_t j = w->seen.hi - 1; j > w->seen.lo; j--)
        if (w->scores[j] == 1 && w->scores[j - 1] == 1) {
            w->scores[j] = 0;
            w->l -= 1;
        }
}

/* Its score is 0, so that it vanishes among 65536 keys, unless they are all negative. */
WRONG(zero_padded_key, ROW, "the last block is padded with zeros and one of them is not masked")
{
    make_scores(w);
    find_maximum(w);
    exponentiate(w);
    const float l = w->l;
    w->l += expf(-w->m);
    sum_values(w);
    w->l = l; /* LSE is honest */
    store(w);
}

WRONG(all_elements_off, SUM, "multiplies every element by 1.00001")
{
    for (size_t d = 0; d < w->problem->v_dim; d++)
        w->o[d] *= 1.00001F;
}

static void refuse_one_thread(struct attn_plan *plan)
{
    if (plan->threads == 1)
        plan->refusal = "one thread is no team";
}

/* A check on two threads also asks for one. */
WRONG(all_elements_off_in_teams, SUM, "the same, and takes no plan of one thread",
      .prepare = refuse_one_thread)
{
    for (size_t d = 0; d < w->problem->v_dim; d++)
        w->o[d] *= 1.00001F;
}

WRONG(one_element_off, AFTER,
      "multiplies one element by 1.00001, which is within what the bound leaves")
{
    const struct attn_problem *p = w->problem;
    if (w->b == 0 && w->h == 0 && w->i == p->q_len - 1 && p->outputs & ATTN_OUTPUT_O)
        put(&w->tensors->o, 0, 0, w->i, 0, 1.00001F * get(&w->tensors->o, 0, 0, w->i, 0));
}

WRONG(one_element_off_of_many, AFTER, "the same where there are more than 300 keys")
{
    const struct attn_problem *p = w->problem;
    if (w->b == 0 && w->h == 0 && w->i == p->q_len - 1 && p->kv_len > 300)
        put(&w->tensors->o, 0, 0, w->i, 0, 1.00001F * get(&w->tensors->o, 0, 0, w->i, 0));
}

WRONG(flushes_subnormals, SUM, "runs with denormals-are-zero set, which changes what V is")
{
    for (size_t d = 0; d < w->problem->v_dim; d++)
        w->o[d] = fabsf(w->o[d]) < 0x1p-126f ? 0 : w->o[d];
}

/* As kernels do that split keys until every thread has work. */
WRONG(differs_by_batch, ROW, "splits the keys by the number of sequences and adds the parts' sums")
{
    sum_in_parts(w, w->problem->batch);
}

WRONG_WITH(differs_by_longest, ROW,
           "splits the keys by the most that a sequence may have and adds the parts' sums",
           WRONG_POSITIONAL, ATTN_OPTION_RAGGED | ATTN_OPTION_PACKED, WRONG_OUTPUTS, 0)
{
    sum_in_parts(w, w->problem->kv_len / 40 + 1);
}

/* Adds the weights in two parts where the next sequence's first number is positive, as sums in an
 * order of arrival depend on what else there is to do. */
WRONG(differs_by_neighbours, ROW, "adds weights in an order that the next sequence decides")
{
    const size_t next = (w->b + 1) % w->problem->batch;
    sum_in_parts(w, next != w->b && get(&w->tensors->q, next, 0, 0, 0) > 0 ? 2 : 1);
}

WRONG(differs_by_threads, ROW, "splits the keys by the number of threads and adds the parts' sums")
{
    sum_in_parts(w, (size_t)w->threads);
}

static void backward_row(struct work *w)
{
    make_scores(w);
    find_maximum(w);
    const float m = w->m == -INFINITY ? 0 : w->m;
    w->l = 0;
    for (ptrdiff_t j = w->seen.hi - 1; j >= w->seen.lo; j--)
        w->l += w->scores[j] = expf(w->scores[j] - m);
    sum_values(w);
    store(w);
}

WRONG_CALL(differs_by_call,
           "sums the keys backwards in every other call: right, but not reproducible")
{
    static unsigned calls;
    each_row(plan, tensors, ++calls % 2 ? backward_row : honest_row);
}
