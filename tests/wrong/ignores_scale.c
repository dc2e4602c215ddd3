/*
 * ignores_scale: multiplies scores by 1/sqrt(D) whatever the problem says.
 */
#include "wrong.h"

static void row(struct work *w)
{
    w->scale = 1 / sqrtf((float)w->problem->qk_dim);
    honest_row(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(ignores_scale, "multiplies scores by 1/sqrt(D) whatever the problem says");
