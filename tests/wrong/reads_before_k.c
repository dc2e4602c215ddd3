/*
 * reads_before_k: looks at the key before the first one of a block.
 */
#include "wrong.h"

static void row(struct work *w)
{
    const volatile float *k = attn_row(&w->tensors->k, w->b, w->g, 0);
    if (w->b == 0 && w->g == 0)
        (void)k[-1];
    honest_row(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(reads_before_k, "looks at the key before the first one of a block");
