/*
 * last_row_from_1024: the last query of long sequences loses its last key, as where a counter has ten bits.
 */
#include "wrong.h"

static void row(struct work *w)
{
    const struct attn_problem *p = w->problem;
    if (p->q_len >= 1024 && w->i + 1 == p->q_len && w->seen.hi > w->seen.lo + 1)
        w->seen.hi--;
    honest_row(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(last_row_from_1024, "the last of 1024 queries or more does not see its last key");
