/*
 * follows_rises_of_30: a maximum that follows a score only when that exceeds it by more than 30.
 *
 * No exponential overflows, nor their sum, but e^30 times a large V does.
 */
#include "lazy.h"

static void row(struct work *w)
{
    lazy_row(w, 30);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(follows_rises_of_30, "rescales late, which a large V does not bear");
