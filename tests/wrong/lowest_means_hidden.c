/*
 * lowest_means_hidden: takes a row whose maximum is -FLT_MAX for one that sees no key.
 *
 * A search for the maximum that starts there cannot tell them apart; frameworks hide keys by a bias of
 * -FLT_MAX, and a row of nothing else is the mean of its values.
 */
#include <float.h>

#include "wrong.h"

static void row(struct work *w)
{
    make_scores(w);
    find_maximum(w);
    if (!(w->m <= -FLT_MAX)) {
        honest_row(w);
        return;
    }
    w->m = -INFINITY;
    w->l = 0;
    for (size_t d = 0; d < w->problem->v_dim; d++)
        w->o[d] = 0;
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(lowest_means_hidden, "takes a maximum of -FLT_MAX for that of no key");
