/*
 * lse_half_in_base_2: works in powers of two; the logarithm of the sum is natural, the maximum in front of
 * it is still one of scores times log2(e).
 */
#include "wrong.h"

static void row(struct work *w)
{
    honest_row(w);
    if (w->l > 0)
        store_lse(w, 1.44269504f * w->m + log(w->l));
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(lse_half_in_base_2, "works in powers of two and converts the sum's part of LSE alone");
