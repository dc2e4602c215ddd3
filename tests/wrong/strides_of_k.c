/*
 * strides_of_k: reads V by the strides of K where their rows are of one length, as where one function
 * makes the addresses of both.
 */
#include <string.h>

#include "wrong.h"

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    struct attn_tensors own = *tensors;
    if (plan->problem.qk_dim == plan->problem.v_dim)
        memcpy(own.v.stride, own.k.stride, sizeof own.v.stride);
    each_row(plan, &own, honest_row);
}

WRONG_KERNEL(strides_of_k, "reads V by the strides of K where both have as many elements");
