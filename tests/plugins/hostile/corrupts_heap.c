/*
 * corrupts_heap: writes in front of a block of memory, then frees it.
 */
#include "wrong.h"

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    volatile size_t *volatile block = malloc(100);
    each_row(plan, tensors, honest_row);
    block[-1] = 12345;
    free((void *)block);
}

WRONG_KERNEL(corrupts_heap, "writes in front of a block of memory, then frees it");
