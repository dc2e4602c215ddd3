/*
 * nan: NaN, infinity, and rows without keys.
 */
#include "wrong.h"

WRONG(nan_leaks, WEIGHTS,
      "masked keys get the weight 0 and are summed all the same: 0 * NaN is NaN")
{
    if (w->seen.lo < w->seen.hi) {
        for (ptrdiff_t j = 0; j < (ptrdiff_t)w->problem->kv_len; j++)
            if (j < w->seen.lo || j >= w->seen.hi)
                w->scores[j] = 0;
        w->seen.lo = 0;
        w->seen.hi = (ptrdiff_t)w->problem->kv_len;
    }
}

/* Gives keys that a boolean mask or a bias hides the weight 0 and sums them all the same: 0 * NaN
 * is NaN. */
WRONG_OPTION(nan_leaks_through_weights, WEIGHTS,
             "sums values of keys that a mask hides with a weight of 0")
{
    for (ptrdiff_t j = w->seen.lo; w->l != 0 && j < w->seen.hi; j++)
        if (!w->shown[j]) {
            w->shown[j] = true;
            w->scores[j] = 0;
        }
}

/* The row's weights with those of hidden keys, 0, which are summed where the values seem harmless. */
typedef bool judge_value(const struct work *w, ptrdiff_t j);
static void show_hidden(struct work *w, judge_value *harmless)
{
    const struct attn_range seen = w->seen;
    if (w->l != 0) /* the row has keys */
        w->seen = (struct attn_range){0, (ptrdiff_t)w->sequence.kv_len};
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        if (j < seen.lo || j >= seen.hi || !w->shown[j]) {
            w->scores[j] = 0;
            w->shown[j] = harmless(w, j);
        }
}

static bool seems_finite(const struct work *w, ptrdiff_t j)
{
    enum { LANES = 8 };
    for (size_t d = 0; d < w->problem->v_dim / LANES * LANES; d++)
        if (!isfinite(value(w, j, d)))
            return false;
    return true;
}

/* Looks for NaN and infinity in whole vectors only: what stands in the last few columns leaks. */
WRONG_OPTION(nan_unseen_in_tail, WEIGHTS,
             "does not see NaN in the last columns of a hidden key's value")
{
    show_hidden(w, seems_finite);
}

static bool has_no_nan(const struct work *w, ptrdiff_t j)
{
    for (size_t d = 0; d < w->problem->v_dim; d++)
        if (isnan(value(w, j, d)))
            return false;
    return true;
}

/* 0 * infinity is NaN. */
WRONG_OPTION(infinity_leaks, WEIGHTS, "does not see infinity in a hidden key's value")
{
    show_hidden(w, has_no_nan);
}

/* fmaxf() returns its other argument where one is NaN: the maximum of the scores is then that of the others,
 * and the exponential is clamped instead of NaN. */
static void finite_row(struct work *w)
{
    make_scores(w);
    w->m = -INFINITY;
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        w->m = fmaxf(w->m, w->scores[j]);
    w->l = 0;
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        w->l += w->scores[j] = expf(fmaxf(w->scores[j] - w->m, -100));
    sum_values(w);
    store(w);
}

WRONG(nan_vanishes, ROW,
      "the maximum is taken with fmaxf, the exponential clamped: NaN comes out finite")
{
    finite_row(w);
}

WRONG(nan_vanishes_alone, ROW, "NaN comes out finite, on one thread only")
{
    (w->threads == 1 ? finite_row : honest_row)(w);
}

WRONG(nan_vanishes_in_teams, ROW, "NaN comes out finite, on several threads only")
{
    (w->threads > 1 ? finite_row : honest_row)(w);
}

/* As a comparison does that is false for NaN. */
WRONG_SCORE(bias_nan_vanishes, "takes a bias of NaN for one of 0")
{
    const real bias = bias_term(w, j);
    return capped(w, w->scale * dot(w, j)) + slope_term(w, j) + (isnan(bias) ? 0 : bias);
}

WRONG(masked_rows_are_nan, AFTER, "divides by the sum of no weights")
{
    const bool divides = w->seen.lo == w->seen.hi && w->problem->outputs & ATTN_OUTPUT_O;
    for (size_t d = 0; divides && d < w->problem->v_dim; d++)
        put(&w->tensors->o, w->b, w->h, w->sequence.q_first + w->i, d, NAN);
}

WRONG_OPTION(empty_sequence_is_nan, AFTER, "divides by the sum of a sequence without keys")
{
    const size_t at = w->sequence.q_first + w->i;
    for (size_t d = 0; w->problem->outputs & ATTN_OUTPUT_O && d < w->problem->v_dim; d++)
        if (!w->sequence.kv_len && w->l == 0)
            put(&w->tensors->o, w->b, w->h, at, d, NAN);
}

/* Writes zeros where no key is left, and forgets that the sink is a key, too. */
WRONG_OPTION(nan_sink_vanishes, AFTER, "writes 0 for a row without keys whose sink is NaN")
{
    bool keys = false;
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        keys |= w->shown[j];
    for (size_t d = 0; !keys && w->problem->outputs & ATTN_OUTPUT_O && d < w->problem->v_dim; d++)
        put(&w->tensors->o, w->b, w->h, w->sequence.q_first + w->i, d, 0);
}
