/*
 * tree_one_key_late: takes the first draft for a key of the cache: the cache is one key too long.
 */
#include "wrong.h"

static void row(struct work *w)
{
    const struct attn_tree tree = attn_tree(w->problem, w->tensors, &w->sequence, w->b);
    for (ptrdiff_t j = w->seen.lo; tree.parents && j < w->seen.hi; j++)
        w->shown[j] |= j == tree.first;
    honest_row(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(tree_one_key_late, "every draft sees the first one");
