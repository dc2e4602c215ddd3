/*
 * segfaults: writes at a null pointer.
 */
#include "wrong.h"

WRONG_CALL(segfaults, "writes at a null pointer")
{
    volatile char *const nowhere = (volatile char *)(uintptr_t)plan->threads; /* small */
    (void)tensors;
    *nowhere = 1;
}
