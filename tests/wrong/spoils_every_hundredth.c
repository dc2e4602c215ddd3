/*
 * spoils_every_hundredth: every hundredth call of a plan is wrong, as where a ring of buffers wraps.  No
 * check calls a plan so often: only the timed calls show it.
 */
#include "spoil.h"

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    static const struct attn_plan *last;
    static size_t calls;
    calls = last && plan == last ? calls + 1 : 1;
    last = plan;
    honest_unless(plan, tensors, calls % 100 == 0);
}

WRONG_KERNEL(spoils_every_hundredth, "every hundredth call of a plan is wrong");
