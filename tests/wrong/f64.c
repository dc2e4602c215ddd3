/*
 * f64: kernels that compute in double precision.
 */
#define WRONG_REAL double
#define WRONG_DTYPES (1u << ATTN_F64)
#include "wrong.h"

WRONG_OPTION_CALL(honest_f64, "right, in f64")
{
    each_row(plan, tensors, honest_row);
}

/* Weights that are off by up to `error` relatively, as where the polynomial of an exponential is some degrees
 * short. */
static void blur(struct work *w, double error)
{
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        w->scores[j] *= 1 + (j % 2 ? error : -error);
}

/* An exponential that is nearer to f32's than to f64's. */
WRONG(exp_of_40_bits, WEIGHTS, "exponentials are off by 2^-40, in f64")
{
    blur(w, 0x1p-40);
}

/* An exponential that is within the bound of rows of many keys, and 256 times as far off as it
 * should be: beside the plain naive kernel it shows, however the roundings of that fall. */
WRONG(exp_of_45_bits, WEIGHTS, "exponentials are off by 2^-45, in f64")
{
    blur(w, 0x1p-45);
}

/* An exponential that is within the bound of rows of many keys, and 64 times as far off as it
 * should be.  Its RMS error is 4 to 12 times that of the plain naive kernel, as the roundings of
 * that fall; in a row of one key it is 64 units, where the bound is 19. */
WRONG(exp_of_47_bits, WEIGHTS, "exponentials are off by 2^-47, in f64")
{
    blur(w, 0x1p-47);
}
