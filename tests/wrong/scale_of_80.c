/*
 * scale_of_80: the scale is a table of the usual dimensions, one entry of which is wrong.
 */
#include "wrong.h"

static void row(struct work *w)
{
    if (w->problem->qk_dim == 80 && w->problem->scale == 0)
        w->scale *= (real)1.01;
    honest_row(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(scale_of_80, "the scale of one dimension, 80, is wrong");
