/*
 * f8_bias_of_fnuz: takes the bias of e4m3 for 8, as in the variant without -0 of some accelerators.
 */
#include "bytes.h"

static real number(enum attn_dtype dtype, uint8_t x)
{
    const real right = attn_byte_to_f32(dtype, x);
    return dtype == ATTN_F8E4M3 ? right / 2 : right;
}

static void row(struct work *w)
{
    row_of_bytes(w, number);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(f8_bias_of_fnuz, "takes the exponent bias of e4m3 for 8");
