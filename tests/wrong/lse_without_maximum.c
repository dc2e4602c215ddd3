/*
 * lse_without_maximum: takes LSE from a sum of exponentials of its own, without a maximum, in double
 * precision.
 *
 * Right as long as the sum is a number: up to scores of 700, and down to -700.
 */
#include "wrong.h"

static void row(struct work *w)
{
    honest_row(w);
    double sum = exp((double)w->sink);
    make_scores(w);
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        sum += exp((double)w->scores[j]);
    store_lse(w, (float)log(sum));
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(lse_without_maximum, "LSE from a sum of exponentials without a maximum");
