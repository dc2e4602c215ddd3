/*
 * mask_taken_for_dense: takes a boolean mask for (B, Hq, Sq, Skv), also where a stride of 0
 * says that heads share it.
 */
#include "wrong.h"

static void row(struct work *w)
{
    const struct attn_problem *p = w->problem;
    struct attn_tensors dense = *w->tensors;
    dense.mask.stride[2] = (ptrdiff_t)p->kv_len;
    dense.mask.stride[1] = (ptrdiff_t)(p->q_len * p->kv_len);
    dense.mask.stride[0] = (ptrdiff_t)(p->q_heads * p->q_len * p->kv_len);
    struct work other = *w;
    other.tensors = &dense;
    show_keys(&other);
    honest_row(&other);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(mask_taken_for_dense,
                   "takes a boolean mask for (B, Hq, Sq, Skv), whatever its strides say");
