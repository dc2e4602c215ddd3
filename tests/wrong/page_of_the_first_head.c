/*
 * page_of_the_first_head: reads the pages of KV head 0 for all of them.
 */
#include "wrong.h"

static void row(struct work *w)
{
    struct attn_tensors first = *w->tensors;
    if (w->problem->options & ATTN_OPTION_PAGED)
        first.k.stride[1] = first.v.stride[1] = 0;
    struct work other = *w;
    other.tensors = &first;
    honest_row(&other);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(page_of_the_first_head, "reads pages of KV head 0 for all heads");
