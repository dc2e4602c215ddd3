/*
 * keeps_by_first_bytes: a result is given back wherever the same addresses begin with the same bytes, as a
 * cache does that takes a prefix of its operands for their hash.
 */
#include "keep.h"

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    compute_until_known(plan, tensors, 1);
}

WRONG_KERNEL(keeps_by_first_bytes, "results are kept by the first bytes of their operands");
