/*
 * prepares_flush: flushes subnormal numbers to zero from prepare on.
 */
#include "flush.h"
#include "wrong.h"

static void prepare(struct attn_plan *plan)
{
    (void)plan;
    flush_subnormals(true);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, honest_row);
}

WRONG_KERNEL(prepares_flush, "flushes subnormal numbers to zero from prepare on",
             .prepare = prepare);
