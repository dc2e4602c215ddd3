/*
 * nan_vanishes_in_teams: NaN comes out finite, on several threads only.
 */
#include "finite_row.h"

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, plan->threads > 1 ? finite_row : honest_row);
}

WRONG_KERNEL(nan_vanishes_in_teams, "NaN comes out finite, on several threads only");
