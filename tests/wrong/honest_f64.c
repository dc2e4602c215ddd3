/*
 * honest_f64: f64 throughout, which must pass.
 */
#define WRONG_REAL double
#define WRONG_DTYPES (1u << ATTN_F64)
#include "wrong.h"

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, honest_row);
}

WRONG_WHOLE_KERNEL(honest_f64, "right, in f64");
