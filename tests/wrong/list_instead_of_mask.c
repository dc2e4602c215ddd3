/*
 * list_instead_of_mask: takes a list for all that hides keys: of those that it names a query sees the
 * ones behind it, too, which causal masks hide.
 */
#include "wrong.h"

static void row(struct work *w)
{
    const int32_t *list = attn_list(w->problem, w->tensors, w->b, w->g, w->i);
    if (list)
        w->seen = (struct attn_range){0, (ptrdiff_t)w->sequence.kv_len};
    honest_row(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(list_instead_of_mask, "ignores the causal mask beside a list");
