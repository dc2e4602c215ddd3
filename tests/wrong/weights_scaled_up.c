/*
 * weights_scaled_up: keeps weights times 2^16 against underflow; with large V the sum overflows.
 */
#include "wrong.h"

static void row(struct work *w)
{
    make_scores(w);
    find_maximum(w);
    w->m -= 11.09035489f; /* log 2^16 */
    exponentiate(w);
    for (size_t d = 0; d < w->problem->v_dim; d++)
        w->o[d] = 0;
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        for (size_t d = 0; d < w->problem->v_dim; d++)
            w->o[d] += w->scores[j] * value(w, j, d);
    for (size_t d = 0; d < w->problem->v_dim; d++)
        w->o[d] /= w->l > 0 ? w->l : 1;
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(weights_scaled_up,
             "keeps weights times 2^16 to save what underflows, until V is large");
