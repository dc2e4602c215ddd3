/*
 * flushes_subnormals: runs with denormals-are-zero set, which changes the values of V.
 */
#include "wrong.h"

static void row(struct work *w)
{
    make_scores(w);
    find_maximum(w);
    exponentiate(w);
    sum_values(w);
    for (size_t d = 0; d < w->problem->v_dim; d++)
        w->o[d] = fabsf(w->o[d]) < 0x1p-126f ? 0 : w->o[d];
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(flushes_subnormals, "runs with denormals-are-zero set, which changes what V is");
