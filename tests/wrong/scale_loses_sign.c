/*
 * scale_loses_sign: folds sqrt(|scale|) into Q and into K, which has no sign.
 */
#include "wrong.h"

static void row(struct work *w)
{
    w->scale = fabsf(w->scale);
    honest_row(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(scale_loses_sign, "folds sqrt(|scale|) into Q and into K, which has no sign");
