/*
 * f8_subnormals_flushed: reads subnormal elements of e4m3 and e5m2 as 0, as tricks do that only shift
 * exponents.
 */
#include "bytes.h"

static real number(enum attn_dtype dtype, uint8_t x)
{
    const uint8_t exponent = dtype == ATTN_F8E4M3 ? 0x78 : 0x7c;
    return dtype != ATTN_I8 && !(x & exponent) ? 0 : (real)attn_byte_to_f32(dtype, x);
}

static void row(struct work *w)
{
    row_of_bytes(w, number);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(f8_subnormals_flushed, "reads subnormal 8-bit floats as 0");
