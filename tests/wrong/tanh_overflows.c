/*
 * tanh_overflows: computes tanh(x) as (e - 1) / (e + 1) with e = exp(2x), which is NaN from x =
 * 45 on.
 */
#include "wrong.h"

static float cap(float c, float x)
{
    const float e = expf(2 * x / c);
    return c * ((e - 1) / (e + 1));
}

static void row(struct work *w)
{
    make_capped_scores(w, cap);
    find_maximum(w);
    exponentiate(w);
    sum_values(w);
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(tanh_overflows, "computes tanh from an exponential that overflows");
