/*
 * mask_or_causal: shows a key where the causal mask or the boolean one does; it takes both.
 */
#include "wrong.h"

static void row(struct work *w)
{
    if (w->problem->mask & ATTN_MASK_BOOL && w->seen.lo < w->seen.hi) {
        for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
            w->shown[j] = true;
        w->seen.lo = 0;
        w->seen.hi = (ptrdiff_t)w->sequence.kv_len;
    }
    honest_row(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(mask_or_causal, "shows a key where a causal or a boolean mask does");
