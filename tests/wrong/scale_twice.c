/*
 * scale_twice: scores are scaled although Q was scaled.
 */
#include "wrong.h"

static void row(struct work *w)
{
    w->scale *= w->scale;
    honest_row(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(scale_twice, "scores are scaled although Q was scaled");
