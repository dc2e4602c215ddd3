/*
 * reads_past_end: loads K in whole vectors of four elements and ignores those past the row's end.
 */
#include "wrong.h"

static void row(struct work *w)
{
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++) {
        const volatile float *k = attn_row(&w->tensors->k, w->b, w->g, (size_t)j);
        for (size_t d = w->problem->qk_dim; d % 4; d++)
            (void)k[d];
    }
    honest_row(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(reads_past_end,
             "loads whole vectors of four keys' worth and ignores what is too much");
