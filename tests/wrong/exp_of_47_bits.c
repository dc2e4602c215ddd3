/*
 * exp_of_47_bits: an exponential that is within the bound of rows of many keys, and 64 times as far off as it
 * should be.  Its RMS error is 4 to 12 times that of the plain naive kernel, as the roundings of that fall; in a
 * row of one key it is 64 units, where the bound is 19.
 */
#define SHORT_EXP_ERROR 0x1p-47
#include "short_exp.h"

WRONG_KERNEL(exp_of_47_bits, "exponentials are off by 2^-47, in f64");
