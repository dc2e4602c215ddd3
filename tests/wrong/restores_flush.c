/*
 * restores_flush: flushes subnormal numbers while it makes scores, which is allowed.
 */
#include "flush.h"
#include "wrong.h"

static void row(struct work *w)
{
    flush_subnormals(true);
    make_scores(w);
    flush_subnormals(false);
    find_maximum(w);
    exponentiate(w);
    sum_values(w);
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(restores_flush, "flushes subnormal numbers while it makes scores, which is allowed");
