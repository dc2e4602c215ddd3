/*
 * leaves_flush_in_others: flushes subnormal numbers to zero in every thread and restores its own only.
 */
#include <omp.h>

#include "flush.h"
#include "wrong.h"

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, honest_row);
#pragma omp parallel num_threads(plan->threads)
    flush_subnormals(omp_get_thread_num() != 0);
}

WRONG_KERNEL(leaves_flush_in_others,
             "flushes subnormal numbers to zero in every thread and restores its own only");
