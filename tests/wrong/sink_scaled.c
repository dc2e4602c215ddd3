/*
 * sink_scaled: scales the sink as it scales the scores.
 */
#include "wrong.h"

static void row(struct work *w)
{
    w->sink *= w->sink == -INFINITY ? 1 : w->scale;
    honest_row(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(sink_scaled, "scales the sink as it scales the scores");
