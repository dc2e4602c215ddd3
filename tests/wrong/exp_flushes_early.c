/*
 * exp_flushes_early: an exponential that is 0 below 2^-100.
 *
 * With ordinary V nobody sees it.
 */
#include "wrong.h"

static void row(struct work *w)
{
    make_scores(w);
    find_maximum(w);
    const float floor = w->m - 69.3f;
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        w->scores[j] = w->scores[j] < floor ? -INFINITY : w->scores[j];
    exponentiate(w);
    sum_values(w);
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(exp_flushes_early, "an exponential that is 0 below 2^-100");
