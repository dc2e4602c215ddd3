/*
 * starts_at_minus_infinity: streaming softmax that subtracts its maximum of -inf from a score of -inf.
 *
 * That is NaN, and stays.  Masks do not show it, since what they hide is left out.
 */
#include "wrong.h"

static void row(struct work *w)
{
    make_scores(w);
    for (size_t d = 0; d < w->problem->v_dim; d++)
        w->o[d] = 0;
    w->m = -INFINITY;
    w->l = 0;
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++) {
        const float m = fmaxf(w->m, w->scores[j]), factor = w->l == 0 ? 0 : expf(w->m - m);
        const float p = expf(w->scores[j] - m);
        w->l = w->l * factor + p;
        w->m = m;
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

WRONG_KERNEL(starts_at_minus_infinity, "streaming softmax that takes -inf from -inf");
