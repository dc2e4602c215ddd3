/*
 * loops: never returns, and leaves the processor to who needs it.
 */
#include <unistd.h>

#include "wrong.h"

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    volatile bool on = true;
    (void)plan, (void)tensors;
    nice(19);
    while (on)
        ;
}

WRONG_KERNEL(loops, "never returns");
