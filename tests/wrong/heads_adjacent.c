/*
 * heads_adjacent: takes the heads of K for neighbours in memory, rows however far apart: not so where
 * a cache has room for more keys than there are.
 */
#include "wrong.h"

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    const struct attn_problem *p = &plan->problem;
    struct attn_tensors own = *tensors;
    if (p->layout == ATTN_BHSD && p->options == 0)
        own.k.stride[1] = (ptrdiff_t)p->kv_len * own.k.stride[2];
    each_row(plan, &own, honest_row);
}

WRONG_KERNEL(heads_adjacent,
             "takes the heads of K for neighbours, which rows of a cache are between");
