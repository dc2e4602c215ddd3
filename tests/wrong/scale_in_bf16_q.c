/*
 * scale_in_bf16_q: folds the scale and log2(e) into Q and rounds that to bf16 again.
 *
 * Saves a multiplication of each score, and loses 16 bits of what f32 scores had.
 */
#include "wrong.h"

#define LOG2_E 1.44269504f

static void row(struct work *w)
{
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++) {
        float sum = 0;
        for (size_t d = 0; d < w->problem->qk_dim; d++) {
            const float q = w->scale * LOG2_E * get(&w->tensors->q, w->b, w->h, w->i, d);
            sum += attn_bf16_to_f32(attn_f32_to_bf16(q)) *
                   get(&w->tensors->k, w->b, w->g, (size_t)j, d);
        }
        w->scores[j] = sum / LOG2_E;
    }
    find_maximum(w);
    exponentiate(w);
    sum_values(w);
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(scale_in_bf16_q, "folds the scale into Q and rounds that to bf16 again",
             .caps.compute = ATTN_BF16);
