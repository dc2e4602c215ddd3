/*
 * writes_past_end: stores whole vectors of four, also at the end of the last row.
 */
#include "wrong.h"

static void row(struct work *w)
{
    honest_row(w);
    volatile float *o = attn_row(&w->tensors->o, w->b, w->h, w->i);
    for (size_t d = w->problem->v_dim; d % 4; d++)
        o[d] = 0;
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(writes_past_end, "stores whole vectors of four, also at the end of the last row");
