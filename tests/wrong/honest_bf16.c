/*
 * honest_bf16: weights are rounded to bf16 for its multiply-adds, and its caps say so.
 */
#include "wrong.h"

static void row(struct work *w)
{
    make_scores(w);
    find_maximum(w);
    exponentiate(w);
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        w->scores[j] = attn_bf16_to_f32(attn_f32_to_bf16(w->scores[j]));
    sum_values(w);
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(honest_bf16, "weights are rounded to bf16, and it says so", .caps.compute = ATTN_BF16);
