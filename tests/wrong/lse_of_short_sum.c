/*
 * lse_of_short_sum: the sum has 18 bits when its logarithm is taken, as from a table.
 */
#include "wrong.h"

#define BITS 18

static void row(struct work *w)
{
    int exponent;
    honest_row(w);
    if (w->l > 0 && isfinite(w->l)) {
        const float fraction = frexpf(w->l, &exponent);
        store_lse(w, w->m + logf(ldexpf(rintf(ldexpf(fraction, BITS)), exponent - BITS)));
    }
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(lse_of_short_sum, "the logarithm of a sum of 18 bits");
