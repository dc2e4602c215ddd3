/*
 * mask_inverted_in_tail: takes 1 for masked behind the last whole vector of a boolean mask.
 */
#include "wrong.h"

#define VECTOR 32

static void row(struct work *w)
{
    const size_t n = w->problem->kv_len;
    for (size_t j = n / VECTOR * VECTOR; w->problem->mask & ATTN_MASK_BOOL && j < n; j++)
        w->shown[j] = !w->shown[j];
    honest_row(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(mask_inverted_in_tail,
                   "takes a boolean mask the wrong way round behind its last whole vector");
