/*
 * lacks_threads: ends as GCC's OpenMP ends a process that may not start a thread.
 */
#include <stdio.h>

#include "wrong.h"

WRONG_CALL(lacks_threads, "ends where threads are missing")
{
    (void)plan, (void)tensors;
    fprintf(stderr, "\nlibgomp: Thread creation failed: Resource temporarily unavailable\n");
    exit(1);
}
