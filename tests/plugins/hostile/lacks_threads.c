/*
 * lacks_threads: ends as GCC's OpenMP ends a process that may not start a thread.
 */
#include <stdio.h>

#include "wrong.h"

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    (void)plan, (void)tensors;
    fprintf(stderr, "\nlibgomp: Thread creation failed: Resource temporarily unavailable\n");
    exit(1);
}

WRONG_KERNEL(lacks_threads, "ends where threads are missing");
