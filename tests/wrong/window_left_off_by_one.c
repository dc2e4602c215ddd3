/*
 * window_left_off_by_one: sees a key too much on the left of a window.
 */
#include "wrong.h"

static void row(struct work *w)
{
    struct attn_problem wider = *w->problem;
    wider.window_left += wider.window_left >= 0;
    struct work other = *w;
    other.problem = &wider;
    see_keys(&other);
    other.problem = w->problem;
    honest_row(&other);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(window_left_off_by_one, "sees a key too much on the left of a window");
