/*
 * exits: ends the process as if all were well.
 */
#include "wrong.h"

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    (void)plan, (void)tensors;
    exit(0);
}

WRONG_KERNEL(exits, "ends the process as if all were well");
