/*
 * loops: never returns.
 */
#include "wrong.h"

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    volatile bool on = true;
    (void)plan, (void)tensors;
    while (on)
        ;
}

WRONG_KERNEL(loops, "never returns");
