/*
 * lse_off_by_1e5: the logarithm in LSE is too large by 1e-5 of itself, as by a short polynomial.
 */
#include "wrong.h"

static void row(struct work *w)
{
    honest_row(w);
    if (w->l > 0)
        store_lse(w, w->m + logf(w->l) * (1 + 1e-5f));
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(lse_off_by_1e5, "a logarithm that is too large by 1e-5 of itself");
