/*
 * spoil.h: a row that is far off, for kernels that are honest but for some calls.
 */
#ifndef TESTS_WRONG_SPOIL_H
#define TESTS_WRONG_SPOIL_H

#include "wrong.h"

static inline void spoiled_row(struct work *w)
{
    make_scores(w);
    find_maximum(w);
    exponentiate(w);
    sum_values(w);
    for (size_t d = 0; d < w->problem->v_dim; d++)
        w->o[d] = 3 * w->o[d] + 10;
    w->l *= 3;
    store(w);
}

static inline void honest_unless(const struct attn_plan *plan, const struct attn_tensors *tensors,
                                 bool spoil)
{
    each_row(plan, tensors, spoil ? spoiled_row : honest_row);
}

#endif
