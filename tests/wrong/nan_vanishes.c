/*
 * nan_vanishes: the maximum is taken with fmaxf, the exponential clamped: NaN comes out finite.
 */
#include "finite_row.h"

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, finite_row);
}

WRONG_KERNEL(nan_vanishes,
             "the maximum is taken with fmaxf, the exponential clamped: NaN comes out finite");
