/*
 * leaves_flush: flushes subnormal numbers to zero from its first call on, in the calling thread.
 */
#include "flush.h"
#include "wrong.h"

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, honest_row);
    flush_subnormals(true);
}

WRONG_KERNEL(leaves_flush,
             "flushes subnormal numbers to zero from its first call on, in the calling thread");
