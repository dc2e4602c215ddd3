/*
 * causal_before_64: the causal mask is off by one where one query is missing to a whole tile of 64.
 */
#include "wrong.h"

static void row(struct work *w)
{
    if (w->problem->mask & ATTN_MASK_CAUSAL && w->problem->q_len % 64 == 63 &&
        w->seen.hi < (ptrdiff_t)w->problem->kv_len && w->seen.lo < w->seen.hi)
        w->seen.hi++;
    honest_row(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(causal_before_64, "the causal mask is off by one where q_len % 64 is 63");
