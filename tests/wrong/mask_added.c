/*
 * mask_added: adds -inf to the scores of keys that a boolean mask hides, which leaves those
 * that are NaN.
 */
#include "wrong.h"

static void row(struct work *w)
{
    const unsigned mask = w->problem->mask;
    for (ptrdiff_t j = w->seen.lo; mask & ATTN_MASK_BOOL && j < w->seen.hi; j++)
        w->shown[j] |= bias_term(w, j) != -INFINITY && isnan(dot(w, j));
    honest_row(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(mask_added, "adds -inf to the scores of keys that a boolean mask hides");
