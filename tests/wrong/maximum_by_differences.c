/*
 * maximum_by_differences: streaming softmax whose maximum grows by what a score exceeds it by.
 *
 * That difference is rounded, and so is the sum: of scores around 2^30 it may miss the score by 128, and
 * the largest weight is 2^-128 or infinite.
 */
#include "wrong.h"

static void row(struct work *w)
{
    make_scores(w);
    for (size_t d = 0; d < w->problem->v_dim; d++)
        w->o[d] = 0;
    w->m = 0;
    w->l = 0;
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++) {
        const float x = w->scores[j];
        const float rise = x == -INFINITY ? 0 : w->l == 0 ? x - w->m : fmaxf(x - w->m, 0);
        const float factor = expf(-fmaxf(rise, 0)), p = expf(x - (w->m + rise));
        w->m += rise;
        w->l = w->l * factor + p;
        for (size_t d = 0; d < w->problem->v_dim; d++)
            w->o[d] = w->o[d] * factor + p * value(w, j, d);
    }
    for (size_t d = 0; d < w->problem->v_dim; d++)
        w->o[d] /= w->l != 0 ? w->l : 1;
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(maximum_by_differences, "a maximum that grows by rounded differences");
