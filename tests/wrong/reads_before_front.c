/*
 * reads_before_front: starts at the aligned address below the first element.
 */
#include "wrong.h"

static void row(struct work *w)
{
    const volatile float *v = attn_row(&w->tensors->v, w->b, w->g, 0);
    if (w->b == 0 && w->g == 0)
        (void)v[-1];
    honest_row(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(reads_before_front, "starts at the aligned address below the first element");
