/*
 * first_sequence_only: reads K and V of the first sequence for all of them.
 */
#include "wrong.h"

static void row(struct work *w)
{
    struct attn_tensors first = *w->tensors;
    first.k.stride[0] = first.v.stride[0] = 0;
    struct work other = *w;
    other.tensors = &first;
    honest_row(&other);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(first_sequence_only, "reads K and V of the first sequence for all of them");
