/*
 * values_from_the_tail: where K and V share storage, takes the last v_dim elements of a key for its value
 * instead of the first.
 */
#include "wrong.h"

static void row(struct work *w)
{
    const struct attn_problem *p = w->problem;
    struct attn_tensors tail = *w->tensors;
    const size_t off = p->qk_dim - p->v_dim;
    if (p->options & ATTN_OPTION_SHARED_KV)
        tail.v.data = (char *)tail.v.data + off * attn_dtype_size(tail.v.dtype);
    struct work other = *w;
    other.tensors = &tail;
    honest_row(&other);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(values_from_the_tail, "takes the end of a shared key for its value");
