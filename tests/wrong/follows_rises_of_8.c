/*
 * follows_rises_of_8: a maximum that follows a score only when that exceeds it by more than 8 in base e,
 * 11.5 in base 2.
 *
 * The room that V leaves is for weights of 2^8: a limit of 8 is meant for scores in base 2.
 */
#include "lazy.h"

static void row(struct work *w)
{
    lazy_row(w, 8);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(follows_rises_of_8, "takes a limit for scores in base 2 for those in base e");
