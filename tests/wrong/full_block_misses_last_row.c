/*
 * full_block_misses_last_row: looks for blocks of 16 rows and 16 keys of which a boolean mask
 * shows everything, and leaves out their last row.
 *
 * In a mask of random elements no block looks full.
 */
#include "wrong.h"

#define BLOCK 16

static bool is_full(const struct work *w, size_t first, size_t j)
{
    const struct attn_problem *p = w->problem;
    for (size_t i = first; i + 1 < first + BLOCK && i < p->q_len; i++)
        for (size_t k = j; k < j + BLOCK && k < p->kv_len; k++)
            if (get(&w->tensors->mask, w->b, w->h, i, k) == 0)
                return false;
    return true;
}

static void row(struct work *w)
{
    const struct attn_problem *p = w->problem;
    for (size_t j = 0; p->mask & ATTN_MASK_BOOL && j < p->kv_len; j += BLOCK)
        if (is_full(w, w->i / BLOCK * BLOCK, j))
            for (size_t k = j; k < j + BLOCK && k < p->kv_len; k++)
                w->shown[k] = bias_term(w, (ptrdiff_t)k) != -INFINITY;
    honest_row(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(full_block_misses_last_row,
                   "takes a block of a boolean mask for full without its last row");
