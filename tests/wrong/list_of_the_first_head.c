/*
 * list_of_the_first_head: reads the list of KV head 0 for all heads, which latent attention has one of.
 */
#include "wrong.h"

static void row(struct work *w)
{
    show_list(w, attn_list(w->problem, w->tensors, w->b, 0, w->i));
    honest_row(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(list_of_the_first_head, "takes the list of KV head 0 for all");
