/*
 * bias_nan_vanishes: takes a bias of NaN for one of 0, as a comparison does that is false for NaN.
 */
#include "wrong.h"

static void row(struct work *w)
{
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        if (w->shown[j]) {
            const real bias = bias_term(w, j);
            w->scores[j] =
                capped(w, w->scale * dot(w, j)) + slope_term(w, j) + (isnan(bias) ? 0 : bias);
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

WRONG_WHOLE_KERNEL(bias_nan_vanishes, "does not notice a bias of NaN");
