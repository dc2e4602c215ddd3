/*
 * padding_is_key_0: takes -1, which fills a list up, for key 0: gathers with the index clamped.
 */
#include "wrong.h"

static void row(struct work *w)
{
    const int32_t *list = attn_list(w->problem, w->tensors, w->b, w->g, w->i);
    for (size_t n = 0; list && n < w->problem->index_count; n++)
        w->shown[0] |= list[n] < 0 && w->sequence.kv_len > 0;
    honest_row(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(padding_is_key_0, "entries of -1 show key 0");
