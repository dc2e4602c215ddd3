/*
 * length_of_the_neighbour: takes the number of keys of the next sequence, right where all have
 * as many.
 */
#include "wrong.h"

static void row(struct work *w)
{
    const size_t next = (w->b + 1) % w->problem->batch;
    w->sequence.kv_len = attn_sequence(w->problem, w->tensors, next).kv_len;
    see_keys(w);
    honest_row(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(length_of_the_neighbour,
                   "takes the keys of a sequence for as many as the next one has");
