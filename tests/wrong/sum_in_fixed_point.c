/*
 * sum_in_fixed_point: keeps the sum of the weights in whole multiples of 2^-20, which loses all
 * that a key far below the maximum adds.
 *
 * Behind a sink those add up; where many keys share the weight nobody sees it.
 */
#include "wrong.h"

static void row(struct work *w)
{
    make_scores(w);
    find_maximum(w);
    exponentiate(w);
    int64_t sum = isnan(w->l) ? 0 : llrintf(expf(w->sink - w->m) * 0x1p20f);
    for (ptrdiff_t j = w->seen.lo; !isnan(w->l) && w->l > 0 && j < w->seen.hi; j++)
        sum += w->shown[j] ? llrintf(w->scores[j] * 0x1p20f) : 0;
    w->l = isnan(w->l) || w->l == 0 ? w->l : (float)sum * 0x1p-20f;
    sum_values(w);
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(sum_in_fixed_point, "keeps the sum of the weights in whole multiples of 2^-20");
