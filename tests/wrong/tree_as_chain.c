/*
 * tree_as_chain: takes every tree of drafts for a chain, as code for a single draft model does that was
 * written before trees.
 */
#include "wrong.h"

static void row(struct work *w)
{
    const struct attn_tree tree = attn_tree(w->problem, w->tensors, &w->sequence, w->b);
    for (ptrdiff_t j = w->seen.lo; tree.parents && j < w->seen.hi; j++)
        w->shown[j] |= j >= tree.first;
    honest_row(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(tree_as_chain, "sees all drafts before its own");
