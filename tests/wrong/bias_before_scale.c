/*
 * bias_before_scale: adds the bias before the scale is applied.
 */
#include "wrong.h"

static void row(struct work *w)
{
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        if (w->shown[j])
            w->scores[j] = capped(w, w->scale * (dot(w, j) + bias_term(w, j))) + slope_term(w, j);
    find_maximum(w);
    exponentiate(w);
    sum_values(w);
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(bias_before_scale, "adds the bias to Q K^T, before the scale");
