/*
 * lse_off_near_one: adds 1e-6 to the sum before the logarithm, lest it be that of 0.
 *
 * In a sum of many that is nothing; beside a key that weighs nearly all it is what the others add.
 */
#include "wrong.h"

static void row(struct work *w)
{
    honest_row(w);
    if (w->l > 0)
        store_lse(w, w->m + logf(w->l + 1e-6f));
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(lse_off_near_one, "a logarithm of the sum and 1e-6");
