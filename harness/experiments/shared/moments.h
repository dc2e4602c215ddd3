/*
 * moments: mean and variance of a sample, and the variance's interval.
 */
#pragma once

#define MOMENTS_NORMAL_975 1.959963985 /* quantile 0.975 of N(0, 1) */

/* Sums of powers. */
struct moments {
    double n, sum[4]; /* values; sums of x, x^2, x^3, x^4 */
};

void moments_add(struct moments *moments, double x);
void moments_merge(struct moments *into, const struct moments *from);

/* Mean; unbiased variance and its 95 % interval, by the normal distribution, with the variance of the
 * variance estimated from the fourth moment (Cho and Cho 2008).  For samples of hundreds and more, of any
 * distribution with a fourth moment. */
struct variance {
    double mean, variance, lo, hi;
};
struct variance moments_variance(const struct moments *moments);

/* Half the width of the interval that holds 95 % of the variances of samples of n values, whose distribution
 * has variance `variance` and fourth central moment `fourth`. */
double moments_half_width(double n, double variance, double fourth);
