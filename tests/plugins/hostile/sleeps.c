/*
 * sleeps: one thread of its team never comes to the end of the region.
 */
#include <omp.h>
#include <unistd.h>

#include "wrong.h"

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, honest_row);
#pragma omp parallel num_threads(plan->threads)
    while (omp_get_thread_num() == plan->threads - 1)
        pause();
}

WRONG_KERNEL(sleeps, "one thread of its team never comes to the end of the region");
