/*
 * lse_saturates: the sum under the logarithm goes through f16, which ends at 65504.
 *
 * Only rows of more keys than that, all of like weight, have such a sum.
 */
#include "wrong.h"

static void row(struct work *w)
{
    honest_row(w);
    if (w->l > 65504)
        store_lse(w, w->m + logf(65504));
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(lse_saturates, "the logarithm of a sum that ends at 65504");
