/*
 * drops_odd_dimension: takes the elements of Q and K two at a time and forgets the last odd one.
 */
#include "wrong.h"

static void row(struct work *w)
{
    struct attn_problem even = *w->problem;
    even.qk_dim &= ~(size_t)1;
    struct work other = *w;
    other.problem = &even;
    honest_row(&other);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(drops_odd_dimension,
             "takes the elements of Q and K two at a time and forgets the last odd one");
