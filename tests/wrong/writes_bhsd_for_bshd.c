/*
 * writes_bhsd_for_bshd: O is written as it would lie in (B, H, S, D), in either layout.
 */
#include "wrong.h"

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    const struct attn_problem *p = &plan->problem;
    struct attn_tensors own = *tensors;
    own.o.stride[2] = (ptrdiff_t)p->v_dim;
    own.o.stride[1] = (ptrdiff_t)(p->q_len * p->v_dim);
    own.o.stride[0] = (ptrdiff_t)(p->q_heads * p->q_len * p->v_dim);
    each_row(plan, &own, honest_row);
}

WRONG_KERNEL(writes_bhsd_for_bshd, "writes O as (B, H, S, D) whatever its strides say");
