/*
 * nan_vanishes_alone: NaN comes out finite, on one thread only.
 */
#include "wrong.h"

static void row(struct work *w)
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

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, plan->threads == 1 ? row : honest_row);
}

WRONG_KERNEL(nan_vanishes_alone, "NaN comes out finite, on one thread only");
