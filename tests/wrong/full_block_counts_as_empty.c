/*
 * full_block_counts_as_empty: skips blocks of 16 rows and 16 keys of which a boolean mask shows
 * nothing, and counts in a byte: 256 are 0.
 *
 * No mask of random elements has such a block.
 */
#include "wrong.h"

#define BLOCK 16

static void row(struct work *w)
{
    const struct attn_problem *p = w->problem;
    const size_t first = w->i / BLOCK * BLOCK;
    for (size_t j = 0; p->mask & ATTN_MASK_BOOL && j < p->kv_len; j += BLOCK) {
        uint8_t count = 0;
        for (size_t i = first; i < first + BLOCK && i < p->q_len; i++)
            for (size_t k = j; k < j + BLOCK && k < p->kv_len; k++)
                count += get(&w->tensors->mask, w->b, w->h, i, k) != 0;
        for (size_t k = j; !count && k < j + BLOCK && k < p->kv_len; k++)
            w->shown[k] = false;
    }
    honest_row(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(full_block_counts_as_empty,
                   "counts what a boolean mask shows of a block in a byte");
