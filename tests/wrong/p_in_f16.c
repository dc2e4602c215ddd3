/*
 * p_in_f16: weights are kept in half precision, which would double the rate of a SIMD unit.
 */
#include "wrong.h"

static void row(struct work *w)
{
    make_scores(w);
    find_maximum(w);
    exponentiate(w);
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        w->scores[j] = attn_f16_to_f32(attn_f32_to_f16(w->scores[j]));
    sum_values(w);
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(p_in_f16, "weights are kept in half precision, which doubles a SIMD unit's rate");
