/*
 * lse: LSE, the logarithm of the sum.
 */
#include "wrong.h"

WRONG(drops_lse, BEFORE, "writes LSE only where O is not wanted")
{
    if (w->problem->outputs & ATTN_OUTPUT_O)
        w->problem->outputs &= ~(unsigned)ATTN_OUTPUT_LSE;
}

WRONG(lse_in_base_2, AFTER, "works in powers of two and forgets to say LSE in natural ones")
{
    const struct attn_tensor *lse = &w->tensors->lse;
    if (w->problem->outputs & ATTN_OUTPUT_LSE)
        put(lse, w->b, w->h, w->i, 0, 1.44269504f * get(lse, w->b, w->h, w->i, 0));
}

/* Works in powers of two; the logarithm of the sum is natural, the maximum in front of it is still
 * one of scores times log2(e). */
WRONG(lse_half_in_base_2, AFTER, "works in powers of two and converts the sum's part of LSE alone")
{
    if (w->l > 0)
        store_lse(w, 1.44269504f * w->m + log(w->l));
}

WRONG(lse_without_log, AFTER, "adds the sum to the maximum, not its logarithm")
{
    if (w->l > 0)
        store_lse(w, w->m + w->l);
}

/* Takes LSE from a sum of exponentials of its own, without a maximum, in double precision.  Right
 * as long as the sum is a number: up to scores of 700, and down to -700. */
WRONG(lse_without_maximum, AFTER, "LSE from a sum of exponentials without a maximum")
{
    double sum = exp((double)w->sink);
    make_scores(w);
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        sum += exp((double)w->scores[j]);
    store_lse(w, (float)log(sum));
}

/* The logarithm in LSE is too large by 1e-5 of itself, as by a short polynomial. */
WRONG(lse_off_by_1e5, AFTER, "a logarithm that is too large by 1e-5 of itself")
{
    if (w->l > 0)
        store_lse(w, w->m + logf(w->l) * (1 + 1e-5f));
}

/* Adds 1e-6 to the sum before the logarithm, lest it be that of 0.  In a sum of many that is
 * nothing; beside a key that weighs nearly all it is what the others add. */
WRONG(lse_off_near_one, AFTER, "a logarithm of the sum and 1e-6")
{
    if (w->l > 0)
        store_lse(w, w->m + logf(w->l + 1e-6f));
}

/* The sum has 18 bits when its logarithm is taken, as from a table. */
WRONG(lse_of_short_sum, AFTER, "the logarithm of a sum of 18 bits")
{
    enum { BITS = 18 };
    int exponent;
    if (w->l > 0 && isfinite(w->l)) {
        const float fraction = frexpf(w->l, &exponent);
        store_lse(w, w->m + logf(ldexpf(rintf(ldexpf(fraction, BITS)), exponent - BITS)));
    }
}

/* Only rows of more keys than that, all of like weight, have such a sum. */
WRONG(lse_saturates, AFTER, "the logarithm of a sum that ends at 65504")
{
    if (w->l > 65504)
        store_lse(w, w->m + logf(65504));
}

WRONG_OPTION(sink_left_out_of_lse, AFTER, "leaves the sink out of LSE")
{
    if (w->sink == -INFINITY)
        return;
    float l = 0;
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        l += w->shown[j] ? w->scores[j] : 0;
    store_lse(w, l == 0 ? -INFINITY : w->m + logf(l));
}
