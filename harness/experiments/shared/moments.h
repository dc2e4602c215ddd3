/*
 * moments: mean and variance of a sample, and how far each may be from the truth.
 */
#ifndef HARNESS_EXPERIMENTS_SHARED_MOMENTS_H
#define HARNESS_EXPERIMENTS_SHARED_MOMENTS_H

#include <stddef.h>

#define MOMENTS_NORMAL_975 1.959963985 /* quantile 0.975 of N(0, 1) */

/* Sums of powers; those of two samples are added term by term. */
struct moments {
    double n, sum[4]; /* of x, x^2, x^3, x^4 */
};

void moments_add(struct moments *moments, double x);
void moments_merge(struct moments *into, const struct moments *from);

/* Mean; unbiased variance and its 95 % interval, which is the normal one with the variance of a
 * variance estimated from the fourth moment (Cho and Cho 2008): for samples of hundreds and more,
 * whatever their distribution, as long as it has a fourth moment. */
struct variance {
    double mean, variance, lo, hi;
};
struct variance moments_variance(const struct moments *moments);

/* Half of the width of the interval in which 95 % of the variances of n values lie, whose own
 * variance is `variance` and fourth central moment `fourth`. */
double moments_half_width(double n, double variance, double fourth);

#endif
