/*
 * fit: y = a x^b.
 */
#ifndef HARNESS_EXPERIMENTS_FIT_H
#define HARNESS_EXPERIMENTS_FIT_H

#include <stddef.h>

/* Exponent by least squares of the logarithms, and its 95 % interval from Student's t; NaN below 3
 * points, or where an x or y is not positive. */
struct fit {
    double exponent, lo, hi;
};
struct fit fit_power(const double *x, const double *y, size_t n);

#endif
