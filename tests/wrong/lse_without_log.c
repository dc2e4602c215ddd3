/*
 * lse_without_log: adds the sum of exponentials to the maximum where its logarithm belongs.
 */
#include "wrong.h"

static void row(struct work *w)
{
    honest_row(w);
    if (w->l > 0)
        store_lse(w, w->m + w->l);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(lse_without_log, "adds the sum to the maximum, not its logarithm");
