/*
 * window_drops_causal: lets a window take the place of causal_top_left.
 */
#include "wrong.h"

static void row(struct work *w)
{
    struct attn_problem window = *w->problem;
    if (window.options & ATTN_OPTION_WINDOW && !(window.mask & ATTN_MASK_CAUSAL))
        window.mask = 0;
    w->seen = attn_visible(&window, (ptrdiff_t)w->i);
    honest_row(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(window_drops_causal, "lets a window take the place of causal_top_left");
