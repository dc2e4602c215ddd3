/*
 * keeps_by_samples: a result is given back wherever the same addresses have the same numbers in the first
 * row, the one in the middle and the last, as a cache does that samples its operands.
 */
#define KEEP_SAMPLES
#include "keep.h"

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    compute_until_known(plan, tensors, 1);
}

WRONG_KERNEL(keeps_by_samples, "results are kept by three rows of their operands");
