/*
 * exp_of_47_bits: an exponential that is within the bound, and 64 times as far off as it should be.
 */
#define SHORT_EXP_ERROR 0x1p-47
#include "short_exp.h"

WRONG_KERNEL(exp_of_47_bits, "exponentials are off by 2^-47, in f64");
