/*
 * ignores_right_window: cuts the keys off to the left of the window only.
 */
#include "wrong.h"

static void row(struct work *w)
{
    struct attn_problem left = *w->problem;
    left.window_right = -1;
    w->seen = attn_visible(&left, (ptrdiff_t)w->i);
    honest_row(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(ignores_right_window, "cuts the keys off to the left of the window only");
