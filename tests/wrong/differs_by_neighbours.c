/*
 * differs_by_neighbours: adds the weights in two parts where the next sequence's first number is positive, as
 * sums in an order of arrival depend on what else there is to do.
 */
#include "wrong.h"

static void row(struct work *w)
{
    const size_t next = (w->b + 1) % w->problem->batch;
    sum_in_parts(w, next != w->b && get(&w->tensors->q, next, 0, 0, 0) > 0 ? 2 : 1);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(differs_by_neighbours, "adds weights in an order that the next sequence decides");
