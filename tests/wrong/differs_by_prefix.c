/*
 * differs_by_prefix: adds the weights in two parts where a sequence shares pages with the one before, as kernels
 * do that compute a prefix by itself and merge it with the rest.
 */
#include "pages_in_common.h"

static void row(struct work *w)
{
    sum_in_parts(w, w->b > 0 && keys_in_common(w, w->b - 1, w->b) ? 2 : 1);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(differs_by_prefix, "adds weights in parts where pages are shared");
