/*
 * scores_before_bias: its scores, as a result, lack the bias; O and LSE are right.
 */
#include "wrong.h"

static void row(struct work *w)
{
    const size_t at = w->sequence.q_first + w->i;
    make_scores(w);
    for (size_t j = 0; w->problem->outputs & ATTN_OUTPUT_SCORES && j < w->problem->kv_len; j++)
        put(&w->tensors->scores, w->b, w->h, at, j,
            is_shown(w, (ptrdiff_t)j) ? w->scores[j] - bias_term(w, (ptrdiff_t)j) : -INFINITY);
    find_maximum(w);
    exponentiate(w);
    sum_values(w);
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL_WITH(scores_before_bias, "returns scores without the bias", ATTN_MASK_BIAS, 0,
                  WRONG_OUTPUTS | ATTN_OUTPUT_SCORES, 0);
