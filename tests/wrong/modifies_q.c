/*
 * modifies_q: scales Q in place.
 */
#include "wrong.h"

static void row(struct work *w)
{
    const struct attn_tensor *q = &w->tensors->q;
    for (size_t d = 0; d < w->problem->qk_dim; d++)
        put(q, w->b, w->h, w->i, d, w->scale * get(q, w->b, w->h, w->i, d));
    w->scale = 1;
    honest_row(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(modifies_q, "scales Q in place");
