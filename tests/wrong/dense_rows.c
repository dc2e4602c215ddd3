/*
 * dense_rows: assumes that the rows of a head are adjacent in memory, as they are in (B, H, S, D).
 */
#include "wrong.h"

static void row(struct work *w)
{
    struct attn_tensors dense = *w->tensors;
    if (w->problem->layout == ATTN_BSHD)
        dense.k.stride[2] = (ptrdiff_t)w->problem->qk_dim;
    struct work other = *w;
    other.tensors = &dense;
    honest_row(&other);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(dense_rows,
             "takes the rows of a head for neighbours in memory, as they are in (B, H, S, D)");
