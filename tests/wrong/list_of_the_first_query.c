/*
 * list_of_the_first_query: reads the list of query 0 for all queries: a list was one for each step of
 * decoding, which has one query.
 */
#include "wrong.h"

static void row(struct work *w)
{
    show_list(w, attn_list(w->problem, w->tensors, w->b, w->g, 0));
    honest_row(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(list_of_the_first_query, "takes the list of query 0 for all");
