/*
 * segfaults: writes at a null pointer.
 */
#include "wrong.h"

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    volatile char *const nowhere = (volatile char *)(uintptr_t)plan->threads; /* small */
    (void)tensors;
    *nowhere = 1;
}

WRONG_KERNEL(segfaults, "writes at a null pointer");
