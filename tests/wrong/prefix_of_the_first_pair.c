/*
 * prefix_of_the_first_pair: takes the pages that sequences 0 and 1 begin with for those of all sequences.
 */
#include "pages_in_common.h"

static void row(struct work *w)
{
    const struct attn_problem *p = w->problem;
    const ptrdiff_t all = w->seen.hi;
    ptrdiff_t shared = p->batch > 1 ? keys_in_common(w, 0, 1) : 0;
    struct attn_tensors first = *w->tensors;
    struct work other = *w;
    shared = shared < all ? shared : all;
    first.block_table.stride[0] = 0;
    other.tensors = &first;
    other.seen.hi = shared;
    make_scores(w);
    make_scores(&other);
    find_maximum(w);
    exponentiate(w);
    for (size_t d = 0; d < p->v_dim; d++)
        w->o[d] = 0;
    for (ptrdiff_t j = w->seen.lo; j < all; j++)
        if (w->shown[j])
            add_value(j < shared ? &other : w, j, w->scores[j] * inverse(w));
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(prefix_of_the_first_pair,
                   "takes the prefix of sequences 0 and 1 for one that all share");
