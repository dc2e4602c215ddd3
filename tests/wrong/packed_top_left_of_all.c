/*
 * packed_top_left_of_all: counts the queries of packed sequences from the first of all under
 * causal_top_left.
 */
#include "wrong.h"

static void row(struct work *w)
{
    struct work other = *w;
    other.i += w->sequence.q_first;
    see_keys(&other);
    if (w->problem->mask & ATTN_MASK_CAUSAL_TOP_LEFT)
        w->seen = other.seen;
    honest_row(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(packed_top_left_of_all, "counts queries from the first of all packed sequences");
