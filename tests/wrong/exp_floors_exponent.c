/*
 * exp_floors_exponent: splits the exponent at its floor instead of the nearest integer, and gives 0 where
 * that is -126, though 2^-125.1 is a normal number.
 */
#include "wrong.h"

static void row(struct work *w)
{
    make_scores(w);
    find_maximum(w);
    const float m = w->m;
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        w->scores[j] = floorf((w->scores[j] - m) * 1.44269504f) <= -126 ? -INFINITY : w->scores[j];
    exponentiate(w);
    sum_values(w);
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(exp_floors_exponent,
             "an exponential that is 0 where the floor of its exponent is -126");
