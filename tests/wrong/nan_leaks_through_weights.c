/*
 * nan_leaks_through_weights: gives keys that a boolean mask or a bias hides the weight 0 and
 * sums them all the same: 0 * NaN is NaN.
 */
#include "wrong.h"

static void row(struct work *w)
{
    make_scores(w);
    find_maximum(w);
    exponentiate(w);
    for (ptrdiff_t j = w->seen.lo; w->l != 0 && j < w->seen.hi; j++)
        if (!w->shown[j]) {
            w->shown[j] = true;
            w->scores[j] = 0;
        }
    sum_values(w);
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(nan_leaks_through_weights,
                   "sums values of keys that a mask hides with a weight of 0");
