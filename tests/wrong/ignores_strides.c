/*
 * ignores_strides: assumes dense rows, whatever the strides say.
 */
#include "wrong.h"

static void row(struct work *w)
{
    struct attn_tensors dense = *w->tensors;
    dense.v.stride[2] = (ptrdiff_t)w->problem->v_dim;
    struct work blind = *w;
    blind.tensors = &dense;
    honest_row(&blind);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(ignores_strides, "takes rows for dense, whatever the strides say");
