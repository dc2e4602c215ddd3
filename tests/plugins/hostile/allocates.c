/*
 * allocates: takes memory for ever, and uses some of it.
 */
#include "wrong.h"

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    static const size_t bytes = (size_t)1 << 24;
    (void)plan, (void)tensors;
    for (;;) {
        volatile char *volatile block = malloc(bytes);
        *block = 1;
    }
}

WRONG_KERNEL(allocates, "takes memory for ever, and uses some of it");
