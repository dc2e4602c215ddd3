/*
 * prefix_of_the_neighbour: gathers rows of all sequences for the pages that they begin with, and gives each the
 * scores of sequence 0 there.
 */
#include "pages_in_common.h"

static void row(struct work *w)
{
    struct work other = *w;
    const ptrdiff_t shared = w->b > 0 ? keys_in_common(w, 0, w->b) : 0;
    make_scores(w);
    other.b = 0;
    other.sequence = attn_sequence(w->problem, w->tensors, 0);
    other.seen.hi = shared < w->seen.hi ? shared : w->seen.hi;
    if (w->i < other.sequence.q_len)
        make_scores(&other);
    find_maximum(w);
    exponentiate(w);
    sum_values(w);
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(prefix_of_the_neighbour, "gives shared keys the scores of sequence 0");
