/*
 * starts_at_minus_1e30: looks for the maximum from -1e30 on, as if that were below every score.
 */
#include "wrong.h"

static void row(struct work *w)
{
    make_scores(w);
    find_maximum(w);
    if (w->seen.hi > w->seen.lo && w->m < -1e30f)
        w->m = -1e30f;
    exponentiate(w);
    sum_values(w);
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(starts_at_minus_1e30, "looks for the maximum from -1e30 on");
