/*
 * causal_off_by_one: the causal mask is off by one: a query also sees the key after its last.
 */
#include "wrong.h"

static void row(struct work *w)
{
    if (w->problem->mask & ATTN_MASK_CAUSAL && w->seen.hi < (ptrdiff_t)w->problem->kv_len &&
        w->seen.lo < w->seen.hi)
        w->seen.hi++;
    honest_row(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(causal_off_by_one,
             "the causal mask is off by one: a query also sees the key after its last");
