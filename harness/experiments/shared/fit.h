/*
 * fit: y = a x^b.
 */
#ifndef HARNESS_EXPERIMENTS_SHARED_FIT_H
#define HARNESS_EXPERIMENTS_SHARED_FIT_H

#include <stddef.h>

/* Exponent by least squares of the logarithms, and its 95 % interval from Student's t; NaN below 3
 * points, or where an x or y is not positive. */
struct fit {
    double exponent, lo, hi;
};
struct fit fit_power(const double *x, const double *y, size_t n);

/* Quantile 0.975 of Student's t for 1 degree of freedom or more; beyond 16 that of 16. */
double fit_student(size_t degrees);

#endif
