/*
 * stats: order statistics of samples.  No assumption of normality anywhere.
 */
#ifndef HARNESS_STATS_H
#define HARNESS_STATS_H

#include <stdbool.h>
#include <stddef.h>

/* Ascending, in place. */
void stats_sort(double *x, size_t n);

/* Median and quantile (Hyndman and Fan type 7) of sorted x; n >= 1. */
double stats_median(const double *sorted, size_t n);
double stats_quantile(const double *sorted, size_t n, double q);

/* Exact order-statistic interval of the median at level 0.95: ranks from the binomial
 * distribution, asymmetric where no symmetric pair comes close.  False below 6 values. */
bool stats_median_ci95(const double *sorted, size_t n, double *lo, double *hi);

#endif
