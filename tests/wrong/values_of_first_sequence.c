/*
 * values_of_first_sequence: K is each sequence's own, V that of the first sequence.
 */
#include "wrong.h"

static void row(struct work *w)
{
    struct attn_tensors first = *w->tensors;
    first.v.stride[0] = 0;
    struct work other = *w;
    other.tensors = &first;
    honest_row(&other);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(values_of_first_sequence, "reads V of the first sequence for all of them");
