/*
 * lse_in_base_2: computes in powers of two and forgets to convert LSE to the natural logarithm.
 */
#include "wrong.h"

static void row(struct work *w)
{
    honest_row(w);
    const struct attn_tensor *lse = &w->tensors->lse;
    if (w->problem->outputs & ATTN_OUTPUT_LSE)
        put(lse, w->b, w->h, w->i, 0, 1.44269504f * get(lse, w->b, w->h, w->i, 0));
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(lse_in_base_2, "works in powers of two and forgets to say LSE in natural ones");
