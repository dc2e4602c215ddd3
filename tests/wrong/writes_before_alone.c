/*
 * writes_before_alone: writes before the first row of O, on one thread only.
 */
#include "wrong.h"

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, honest_row);
    if (plan->threads == 1)
        ((volatile char *)tensors->o.data)[-1] = 0;
}

WRONG_KERNEL(writes_before_alone, "writes before the first row of O, on one thread only");
