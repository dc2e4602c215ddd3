/*
 * segfaults_when_timed: writes at a null pointer in the last of its threads, in calls that are timed.
 */
#include <omp.h>
#include <stdlib.h>

#include "wrong.h"

/* Threads that wait for the next call spin where time is measured (harness/session/launch.c). */
static bool is_timed(void)
{
    const char *policy = getenv("OMP_WAIT_POLICY");
    return policy && strcmp(policy, "active") == 0;
}

WRONG_CALL(segfaults_when_timed, "writes at a null pointer in the last of its threads, when timed")
{
    volatile char *const nowhere = (volatile char *)(uintptr_t)plan->threads; /* small */
    each_row(plan, tensors, honest_row);
#pragma omp parallel num_threads(plan->threads)
    if (is_timed() && omp_get_thread_num() == plan->threads - 1)
        *nowhere = 1;
}
