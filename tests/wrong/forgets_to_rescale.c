/*
 * forgets_to_rescale: streaming softmax whose output is not shrunk when the maximum rises.
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
        const float m = fmaxf(w->m, w->scores[j]), p = expf(w->scores[j] - m);
        w->l = w->l * expf(w->m - m) + p;
        w->m = m;
        for (size_t d = 0; d < w->problem->v_dim; d++)
            w->o[d] += p * value(w, j, d);
    }
    for (size_t d = 0; d < w->problem->v_dim; d++)
        w->o[d] /= w->l > 0 ? w->l : 1;
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(forgets_to_rescale,
             "streaming softmax whose output is not shrunk when the maximum rises");
