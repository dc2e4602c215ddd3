/*
 * nan_leaks: masked keys get the weight 0 and are summed all the same: 0 * NaN is NaN.
 */
#include "wrong.h"

static void row(struct work *w)
{
    make_scores(w);
    find_maximum(w);
    exponentiate(w);
    if (w->seen.lo < w->seen.hi) {
        for (ptrdiff_t j = 0; j < (ptrdiff_t)w->problem->kv_len; j++)
            if (j < w->seen.lo || j >= w->seen.hi)
                w->scores[j] = 0;
        w->seen.lo = 0;
        w->seen.hi = (ptrdiff_t)w->problem->kv_len;
    }
    sum_values(w);
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(nan_leaks, "masked keys get the weight 0 and are summed all the same: 0 * NaN is NaN");
