/*
 * exits_at_once: ends the process without any handler of its end.
 */
#include <unistd.h>

#include "wrong.h"

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    (void)plan, (void)tensors;
    _exit(3);
}

WRONG_KERNEL(exits_at_once, "ends the process without any handler of its end");
