/*
 * v_scale_relative_to_first: divides the scales of int8 values by that of the first key, which
 * it applies last: 0 / 0 where that is 0.
 */
#include "wrong.h"

static void row(struct work *w)
{
    make_scores(w);
    find_maximum(w);
    exponentiate(w);
    sum_values(w);
    const float first = w->seen.lo < w->seen.hi ? value_scale(w, w->seen.lo) : 1;
    for (size_t d = 0; !isnan(first) && d < w->problem->v_dim; d++)
        w->o[d] = w->o[d] / first * first;
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(v_scale_relative_to_first, "divides scales of V by that of the first key");
