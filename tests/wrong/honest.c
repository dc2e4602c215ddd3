/*
 * honest: does nothing wrong; the others differ from it in one step, and call its other ones.
 */
#include "honest_steps.h"

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, honest_row);
}

WRONG_WHOLE_KERNEL(honest, "does nothing wrong");
