/*
 * mask_of_the_first_row: decides by the first row of a block of 16 which keys a boolean mask
 * shows to all of them, which is right for masks made of such blocks.
 */
#include "wrong.h"

#define BLOCK 16

static void row(struct work *w)
{
    struct work first = *w;
    first.i = w->i / BLOCK * BLOCK;
    show_keys(&first); /* the same array */
    honest_row(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(mask_of_the_first_row, "scans a boolean mask by the first of sixteen rows");
