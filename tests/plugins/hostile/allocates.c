/*
 * allocates: takes memory for ever, and uses some of it.
 */
#include "wrong.h"

WRONG_CALL(allocates, "takes memory for ever, and uses some of it")
{
    static const size_t bytes = (size_t)1 << 24;
    (void)plan, (void)tensors;
    for (;;) {
        volatile char *volatile block = malloc(bytes);
        *block = 1;
    }
}
