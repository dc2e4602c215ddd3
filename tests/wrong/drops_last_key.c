/*
 * drops_last_key: the loop over keys ends one early.
 */
#include "wrong.h"

static void row(struct work *w)
{
    if (w->seen.hi - w->seen.lo > 1)
        w->seen.hi--;
    honest_row(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(drops_last_key, "the loop over keys ends one early");
