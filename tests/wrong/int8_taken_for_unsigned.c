/*
 * int8_taken_for_unsigned: takes the bytes of int8 keys and values for unsigned ones.
 */
#include "wrong.h"

static void row(struct work *w)
{
    struct attn_tensors bytes = *w->tensors;
    if (bytes.k.dtype == ATTN_I8)
        bytes.k.dtype = bytes.v.dtype = ATTN_BOOL;
    struct work other = *w;
    other.tensors = &bytes;
    honest_row(&other);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(int8_taken_for_unsigned, "takes int8 for unsigned bytes");
