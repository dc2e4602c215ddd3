/*
 * sum_in_bf16: the sum of the weights is kept in bf16, where from some keys on it grows no more; P V is in
 * f32.  So it comes out where a type of storage is taken for that of a variable.
 */
#include "wrong.h"

static void row(struct work *w)
{
    make_scores(w);
    find_maximum(w);
    exponentiate(w);
    float sum = 0;
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        sum = attn_bf16_to_f32(attn_f32_to_bf16(sum + (w->shown[j] ? w->scores[j] : 0)));
    w->l = sum;
    sum_values(w);
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(sum_in_bf16, "the sum of the weights is kept in bf16");
