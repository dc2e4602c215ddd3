/*
 * f8_minus_nan_as_480: knows the NaN of e4m3 by a comparison with 0x7f, which -NaN is not.
 */
#include "bytes.h"

static real number(enum attn_dtype dtype, uint8_t x)
{
    if (dtype == ATTN_F8E4M3 && x == 0xff)
        return -480;
    return attn_byte_to_f32(dtype, x);
}

static void row(struct work *w)
{
    row_of_bytes(w, number);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(f8_minus_nan_as_480, "reads the -NaN of e4m3 as -480");
