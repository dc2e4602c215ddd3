/*
 * tree_stops_at_parent: a draft sees its parent, but no ancestor of that: the walk is a single step.
 */
#include "wrong.h"

static void row(struct work *w)
{
    const struct attn_tree tree = attn_tree(w->problem, w->tensors, &w->sequence, w->b);
    for (ptrdiff_t j = w->seen.lo; tree.parents && j < w->seen.hi; j++) {
        const ptrdiff_t draft = j - tree.first;
        w->shown[j] &= draft < 0 || draft == (ptrdiff_t)w->i || draft == tree.parents[w->i];
    }
    honest_row(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(tree_stops_at_parent, "sees of its ancestors the parent alone");
