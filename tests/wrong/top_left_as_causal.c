/*
 * top_left_as_causal: aligns every causal mask to the last key.
 */
#include "wrong.h"

static void row(struct work *w)
{
    struct attn_problem last = *w->problem;
    if (last.mask & ATTN_MASK_CAUSAL_TOP_LEFT)
        last.mask = ATTN_MASK_CAUSAL;
    w->seen = attn_visible(&last, (ptrdiff_t)w->i);
    honest_row(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(top_left_as_causal, "aligns every causal mask to the last key");
