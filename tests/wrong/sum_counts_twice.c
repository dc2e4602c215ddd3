/*
 * sum_counts_twice: the last three weights are added to the sum a second time, as if a vector's lanes
 * beyond the keys were those of the one before; P V is right.
 */
#include "wrong.h"

static void row(struct work *w)
{
    make_scores(w);
    find_maximum(w);
    exponentiate(w);
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        w->l += w->shown[j] && j + 3 >= w->seen.hi ? w->scores[j] : 0;
    sum_values(w);
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(sum_counts_twice, "the last weights are added to their sum twice");
