/*
 * computes_in_f32: operands and results are f64, all between is f32: whoever stores double for the sake of
 * the caller and has but one kernel.
 */
#define WRONG_DTYPES (1u << ATTN_F64)
#include "wrong.h"

WRONG_OPTION_CALL(computes_in_f32, "f64 outside, f32 inside")
{
    each_row(plan, tensors, honest_row);
}
