/*
 * prefix_counts_sink: counts a sink twice, once with the pages that sequences share and once with the others.
 */
#include "pages_in_common.h"

static void row(struct work *w)
{
    make_scores(w);
    find_maximum(w);
    exponentiate(w);
    if (w->b > 0 && w->sink > -INFINITY && keys_in_common(w, w->b - 1, w->b))
        w->l += exp(w->sink - w->m);
    sum_values(w);
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(prefix_counts_sink, "counts a sink twice where pages are shared");
