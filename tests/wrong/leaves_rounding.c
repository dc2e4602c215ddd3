/*
 * leaves_rounding: rounds upward from its first call on.
 */
#include <fenv.h>

#include "wrong.h"

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, honest_row);
    fesetround(FE_UPWARD);
}

WRONG_KERNEL(leaves_rounding, "rounds upward from its first call on");
