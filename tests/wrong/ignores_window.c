/*
 * ignores_window: claims windows and looks at every key that the causal mask leaves.
 */
#include "wrong.h"

static void row(struct work *w)
{
    struct attn_problem unlimited = *w->problem;
    unlimited.options = 0;
    w->seen = attn_visible(&unlimited, (ptrdiff_t)w->i);
    honest_row(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(ignores_window, "claims windows and looks at every key that the causal mask leaves");
