/*
 * sleeps: one thread of its team never comes to the end of the region.
 */
#include <omp.h>
#include <unistd.h>

#include "wrong.h"

WRONG_CALL(sleeps, "one thread of its team never comes to the end of the region")
{
    each_row(plan, tensors, honest_row);
#pragma omp parallel num_threads(plan->threads)
    while (omp_get_thread_num() == plan->threads - 1)
        pause();
}
