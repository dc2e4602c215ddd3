/*
 * list_of_physical_keys: reads keys of a list where they would lie if the pages of a sequence followed
 * each other from its first one, not by the page table.
 */
#include "wrong.h"

/* Pages in the order of memory, from the first one of the sequence round to the one before it. */
static void row(struct work *w)
{
    const struct attn_problem *p = w->problem;
    struct attn_tensors tensors = *w->tensors;
    const struct attn_tensor *t = &tensors.block_table;
    int32_t *table = NULL;
    if (p->options & ATTN_OPTION_INDEX && p->options & ATTN_OPTION_PAGED && w->sequence.kv_len) {
        const int32_t first = ((const int32_t *)t->data)[(ptrdiff_t)w->b * t->stride[0]];
        const size_t pages = p->kv_len / p->page_size + 1;
        table = malloc(pages * sizeof *table);
        for (size_t n = 0; n < pages; n++)
            table[n] = (int32_t)(((size_t)first + n) % tensors.pages);
        tensors.block_table.data = table - (ptrdiff_t)w->b * t->stride[0];
    }
    struct work moved = *w;
    moved.tensors = &tensors;
    honest_row(&moved);
    free(table);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(list_of_physical_keys, "lists name places in memory");
