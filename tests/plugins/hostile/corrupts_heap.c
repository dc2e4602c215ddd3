/*
 * corrupts_heap: writes in front of a block of memory, then frees it.
 */
#include "wrong.h"

WRONG_CALL(corrupts_heap, "writes in front of a block of memory, then frees it")
{
    volatile size_t *volatile block = malloc(100);
    each_row(plan, tensors, honest_row);
    block[-1] = 12345;
    free((void *)block);
}
