/*
 * exp_of_40_bits: an exponential that is nearer to f32's than to f64's.
 */
#define SHORT_EXP_ERROR 0x1p-40
#include "short_exp.h"

WRONG_KERNEL(exp_of_40_bits, "exponentials are off by 2^-40, in f64");
