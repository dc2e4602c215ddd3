/*
 * table_of_the_first_sequence: reads the block table of sequence 0 for all of them.
 */
#include "wrong.h"

static void row(struct work *w)
{
    struct attn_tensors first = *w->tensors;
    const size_t keys = attn_sequence(w->problem, w->tensors, 0).kv_len;
    if (keys >= w->sequence.kv_len) /* or it would read entries that nobody filled in */
        first.block_table.stride[0] = 0;
    struct work other = *w;
    other.tensors = &first;
    honest_row(&other);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(table_of_the_first_sequence,
                   "reads the block table of the first sequence for all");
