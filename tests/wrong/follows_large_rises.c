/*
 * follows_large_rises: a maximum that follows a score only when that exceeds it by more than 97, 140 in
 * base 2.
 *
 * Less is left to the exponential, which overflows from 88 on: wrong in a narrow band of rises.
 */
#include "lazy.h"

static void row(struct work *w)
{
    lazy_row(w, 97);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(follows_large_rises, "rescales only for rises that an exponential cannot hold at all");
