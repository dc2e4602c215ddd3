/*
 * masked_rows_are_nan: divides by the sum of the weights of no keys, which is 0.
 */
#include "wrong.h"

static void row(struct work *w)
{
    honest_row(w);
    const bool divides = w->seen.lo == w->seen.hi && w->problem->outputs & ATTN_OUTPUT_O;
    for (size_t d = 0; divides && d < w->problem->v_dim; d++)
        put(&w->tensors->o, w->b, w->h, w->sequence.q_first + w->i, d, NAN);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(masked_rows_are_nan, "divides by the sum of no weights");
