/*
 * drops_rest_of_keys: each thread has as many keys as the division by their number gives, and nobody
 * those that are left.  On one thread all is well.
 */
#include "wrong.h"

static int threads;

static void row(struct work *w)
{
    w->seen.hi -= (w->seen.hi - w->seen.lo) % threads;
    honest_row(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    threads = plan->threads;
    each_row(plan, tensors, row);
}

WRONG_KERNEL(drops_rest_of_keys, "shares keys among threads and drops what is left");
