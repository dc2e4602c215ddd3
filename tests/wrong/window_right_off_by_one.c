/*
 * window_right_off_by_one: sees a key too little on the right of a window.
 */
#include "wrong.h"

static void row(struct work *w)
{
    struct attn_problem narrower = *w->problem;
    narrower.window_right -= narrower.window_right > 0;
    struct work other = *w;
    other.problem = &narrower;
    see_keys(&other);
    other.problem = w->problem;
    honest_row(&other);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(window_right_off_by_one, "sees a key too little on the right of a window");
