/*
 * sink_left_out_of_lse: leaves the sink out of LSE.
 */
#include "wrong.h"

static void row(struct work *w)
{
    honest_row(w);
    if (w->sink == -INFINITY)
        return;
    float l = 0;
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        l += w->shown[j] ? w->scores[j] : 0;
    store_lse(w, l == 0 ? -INFINITY : w->m + logf(l));
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(sink_left_out_of_lse, "leaves the sink out of LSE");
