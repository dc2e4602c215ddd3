/*
 * tree_shows_siblings: a draft sees its parent's other children before it, as where a level of the tree is
 * taken for one position.
 */
#include "wrong.h"

static void row(struct work *w)
{
    const struct attn_tree tree = attn_tree(w->problem, w->tensors, &w->sequence, w->b);
    for (ptrdiff_t j = w->seen.lo; tree.parents && j < w->seen.hi; j++)
        w->shown[j] |= j >= tree.first && tree.parents[j - tree.first] == tree.parents[w->i];
    honest_row(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(tree_shows_siblings, "sees its siblings before it");
