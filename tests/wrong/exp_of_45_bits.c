/*
 * exp_of_45_bits: an exponential that is within the bound of rows of many keys, and 256 times as far off as it
 * should be: beside the plain naive kernel it shows, however the roundings of that fall.
 */
#define SHORT_EXP_ERROR 0x1p-45
#include "short_exp.h"

WRONG_KERNEL(exp_of_45_bits, "exponentials are off by 2^-45, in f64");
