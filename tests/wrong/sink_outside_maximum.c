/*
 * sink_outside_maximum: leaves the sink out of the maximum: its exponential overflows where it
 * is far above all keys.
 */
#include "wrong.h"

static void row(struct work *w)
{
    const float sink = w->sink;
    make_scores(w);
    w->sink = -INFINITY;
    find_maximum(w);
    w->sink = sink;
    w->m = w->m == -INFINITY ? sink : w->m;
    exponentiate(w);
    sum_values(w);
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(sink_outside_maximum, "leaves the sink out of the maximum");
