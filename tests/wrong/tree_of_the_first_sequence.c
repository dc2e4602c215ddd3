/*
 * tree_of_the_first_sequence: reads the parents of sequence 0 for all sequences, which share a tree in most
 * servers, but not in all.
 */
#include "wrong.h"

static void row(struct work *w)
{
    struct attn_tree tree = attn_tree(w->problem, w->tensors, &w->sequence, w->b);
    tree.parents = w->tensors->parents.data;
    for (ptrdiff_t j = w->seen.lo; tree.parents && j < w->seen.hi; j++)
        w->shown[j] = attn_tree_sees(&tree, (ptrdiff_t)w->i, j);
    honest_row(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(tree_of_the_first_sequence, "takes the tree of sequence 0 for all");
