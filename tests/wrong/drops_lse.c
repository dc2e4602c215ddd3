/*
 * drops_lse: writes LSE only where O is not wanted.
 */
#include "wrong.h"

static void row(struct work *w)
{
    struct attn_problem either = *w->problem;
    if (either.outputs & ATTN_OUTPUT_O)
        either.outputs &= ~(unsigned)ATTN_OUTPUT_LSE;
    struct work other = *w;
    other.problem = &either;
    honest_row(&other);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(drops_lse, "writes LSE only where O is not wanted");
