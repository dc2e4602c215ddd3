/*
 * tanh_loses_small: computes tanh(x) as 1 - 2 / (exp(2x) + 1): the digits of a small x are lost
 * in those of 1.
 *
 * Right to four roundings of c, as a bound allows that knows no more than c.
 */
#include "wrong.h"

static float cap(float c, float x)
{
    return c * (1 - 2 / (expf(2 * x / c) + 1));
}

static void row(struct work *w)
{
    make_capped_scores(w, cap);
    find_maximum(w);
    exponentiate(w);
    sum_values(w);
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(tanh_loses_small,
                   "computes tanh from an exponential that is near 1 where scores are small");
