/*
 * exp_lanes: 2^x by polynomials of each degree, a variant per ISA.
 */
#ifndef HARNESS_EXPERIMENTS_EXP_LANES_H
#define HARNESS_EXPERIMENTS_EXP_LANES_H

#include <stddef.h>

#include "attention.h"

#define EXP_DEGREES 8 /* polynomials of degree 1 to 8 */

/* y[i] = 2^x[i] for -126 <= x[i] <= 0, n a multiple of 16.
 * 2^r = 1 + c[0] r + c[1] r^2 + ... on [-1/2, 1/2], `degree` coefficients. */
struct exp_lanes {
    enum attn_isa isa;
    void (*run)(size_t degree, const float *c, const float *x, float *y, size_t n);
};
extern const struct exp_lanes *const exp_variants[];
extern const size_t exp_variant_count;

#endif
