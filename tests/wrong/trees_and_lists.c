/*
 * trees_and_lists: trees of drafts and lists of chosen keys.
 */
#include "wrong.h"

/* Takes every tree of drafts for a chain, as code for a single draft model does that was written
 * before trees. */
WRONG_OPTION(tree_as_chain, BEFORE, "sees all drafts before its own")
{
    const struct attn_tree tree = attn_tree(w->problem, w->tensors, &w->sequence, w->b);
    for (ptrdiff_t j = w->seen.lo; tree.parents && j < w->seen.hi; j++)
        w->shown[j] |= j >= tree.first;
}

/* Reads the parents of sequence 0 for all sequences, which share a tree in most servers, but not
 * in all. */
WRONG_OPTION(tree_of_the_first_sequence, BEFORE, "takes the tree of sequence 0 for all")
{
    struct attn_tree tree = attn_tree(w->problem, w->tensors, &w->sequence, w->b);
    tree.parents = w->tensors->parents.data;
    for (ptrdiff_t j = w->seen.lo; tree.parents && j < w->seen.hi; j++)
        w->shown[j] = attn_tree_sees(&tree, (ptrdiff_t)w->i, j);
}

/* Takes the first draft for a key of the cache: the cache is one key too long. */
WRONG_OPTION(tree_one_key_late, BEFORE, "every draft sees the first one")
{
    const struct attn_tree tree = attn_tree(w->problem, w->tensors, &w->sequence, w->b);
    for (ptrdiff_t j = w->seen.lo; tree.parents && j < w->seen.hi; j++)
        w->shown[j] |= j == tree.first;
}

/* A draft sees its parent's other children before it, as where a level of the tree is taken for
 * one position. */
WRONG_OPTION(tree_shows_siblings, BEFORE, "sees its siblings before it")
{
    const struct attn_tree tree = attn_tree(w->problem, w->tensors, &w->sequence, w->b);
    for (ptrdiff_t j = w->seen.lo; tree.parents && j < w->seen.hi; j++)
        w->shown[j] |= j >= tree.first && tree.parents[j - tree.first] == tree.parents[w->i];
}

/* A draft sees its parent, but no ancestor of that: the walk is a single step. */
WRONG_OPTION(tree_stops_at_parent, BEFORE, "sees of its ancestors the parent alone")
{
    const struct attn_tree tree = attn_tree(w->problem, w->tensors, &w->sequence, w->b);
    for (ptrdiff_t j = w->seen.lo; tree.parents && j < w->seen.hi; j++) {
        const ptrdiff_t draft = j - tree.first;
        w->shown[j] &= draft < 0 || draft == (ptrdiff_t)w->i || draft == tree.parents[w->i];
    }
}

/* Takes a list for all that hides keys: of those that it names a query sees the ones behind it,
 * too, which causal masks hide. */
WRONG_OPTION(list_instead_of_mask, BEFORE, "ignores the causal mask beside a list")
{
    const int32_t *list = attn_list(w->problem, w->tensors, w->b, w->g, w->i);
    if (list)
        w->seen = (struct attn_range){0, (ptrdiff_t)w->sequence.kv_len};
}

/* Reads keys of a list where they would lie if the pages of a sequence followed each other from its first
 * one, in the order of memory and round its end, not by the page table. */
WRONG_OPTION(list_of_physical_keys, ROW, "lists name places in memory")
{
    const struct attn_problem *p = w->problem;
    struct attn_tensor *t = &w->tensors->block_table;
    int32_t *table = NULL;
    if (p->options & ATTN_OPTION_INDEX && p->options & ATTN_OPTION_PAGED && w->sequence.kv_len) {
        const int32_t first = ((const int32_t *)t->data)[(ptrdiff_t)w->b * t->stride[0]];
        const size_t pages = p->kv_len / p->page_size + 1;
        table = malloc(pages * sizeof *table);
        for (size_t n = 0; n < pages; n++)
            table[n] = (int32_t)(((size_t)first + n) % w->tensors->pages);
        t->data = table - (ptrdiff_t)w->b * t->stride[0];
    }
    honest_row(w);
    free(table);
}

/* Reads the list of KV head 0 for all heads, which latent attention has one of. */
WRONG_OPTION(list_of_the_first_head, BEFORE, "takes the list of KV head 0 for all")
{
    show_list(w, attn_list(w->problem, w->tensors, w->b, 0, w->i));
}

/* Reads the list of query 0 for all queries: a list was one for each step of decoding, which has
 * one query. */
WRONG_OPTION(list_of_the_first_query, BEFORE, "takes the list of query 0 for all")
{
    show_list(w, attn_list(w->problem, w->tensors, w->b, w->g, 0));
}

/* Takes -1, which fills a list up, for key 0: gathers with the index clamped. */
WRONG_OPTION(padding_is_key_0, BEFORE, "entries of -1 show key 0")
{
    const int32_t *list = attn_list(w->problem, w->tensors, w->b, w->g, w->i);
    for (size_t n = 0; list && n < w->problem->index_count; n++)
        w->shown[0] |= list[n] < 0 && w->sequence.kv_len > 0;
}
