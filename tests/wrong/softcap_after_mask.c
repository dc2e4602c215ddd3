/*
 * softcap_after_mask: caps the scores after the boolean mask made some -inf: they become -c.
 */
#include "wrong.h"

static void row(struct work *w)
{
    const bool both =
        w->problem->mask & ATTN_MASK_BOOL && w->problem->options & ATTN_OPTION_SOFTCAP;
    make_scores(w);
    for (ptrdiff_t j = w->seen.lo; both && j < w->seen.hi; j++)
        if (!w->shown[j]) {
            w->shown[j] = true;
            w->scores[j] = capped(w, -INFINITY);
        }
    find_maximum(w);
    exponentiate(w);
    sum_values(w);
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(softcap_after_mask, "caps the scores after the boolean mask made some -inf");
