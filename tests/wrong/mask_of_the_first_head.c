/*
 * mask_of_the_first_head: reads the boolean mask of head 0 for all heads, right where they
 * share it.
 */
#include "wrong.h"

static void row(struct work *w)
{
    struct attn_tensors first = *w->tensors;
    first.mask.stride[1] = 0;
    struct work other = *w;
    other.tensors = &first;
    show_keys(&other);
    honest_row(&other);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(mask_of_the_first_head, "reads one boolean mask for all heads");
