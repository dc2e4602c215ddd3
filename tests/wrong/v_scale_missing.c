/*
 * v_scale_missing: takes values of 8 bits as they are, without their scale.
 */
#include "wrong.h"

static void row(struct work *w)
{
    static float one = 1;
    struct attn_tensors unscaled = *w->tensors;
    unscaled.v_scale = (struct attn_tensor){&one, ATTN_F32, {0, 0, 0, 0}};
    struct work other = *w;
    other.tensors = &unscaled;
    honest_row(&other);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(v_scale_missing, "takes values of 8 bits as they are");
