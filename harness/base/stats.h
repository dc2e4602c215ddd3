/*
 * stats: order statistics of samples.  No assumption of normality anywhere.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Fewest values that give an interval: with 5 even [min, max] covers only 93.75 %. */
#define STATS_CI_MIN 6

/* Sorts in ascending order: in place, or into a copy for free(), NULL where memory is missing. */
void stats_sort(double *x, size_t n);
double *stats_sorted(const double *x, size_t n);

/* Median and quantile (Hyndman and Fan type 7) of sorted x; n >= 1. */
double stats_median(const double *sorted, size_t n);
double stats_quantile(const double *sorted, size_t n, double q);

/* Median of x in any order; x stays as it is.  Allocates. */
double stats_median_of(const double *x, size_t n);

/* Ranks lo < hi (0-based) between which the median of the population lies with a probability of
 * at least 0.95, whatever the (continuous) distribution; the probability in *coverage, exact.
 * False below STATS_CI_MIN values. */
bool stats_median_ranks(size_t n, size_t *lo, size_t *hi, double *coverage);

/* Exact order-statistic interval of the median at level 0.95: symmetric ranks from
 * the binomial distribution.  False below 6 values. */
bool stats_median_ci95(const double *sorted, size_t n, double *lo, double *hi);

/* Fewest rounds that give the interval of a ratio. */
#define STATS_RATIO_MIN 3

/* Ratio b / a of two cells measured side by side, one value of each per round: the median of the rounds'
 * ratios and its 95 % interval, both computed from log(b / a).  The interval is that of the order
 * statistics from STATS_CI_MIN rounds on, and that of Student's t for fewer; below STATS_RATIO_MIN rounds
 * `interval` is false and lo, hi are NaN.  scripts/attntools/base/statistics.py, paired_interval(),
 * computes the same; docs/measuring.md, "few launches", explains it. */
struct stats_ratio {
    double ratio, lo, hi;
    bool interval;
};
struct stats_ratio stats_paired_ratio(const double *a, const double *b, size_t rounds);

/* The smallest relative difference, in either direction, 0.01 = 1 %, that stats_paired_ratio() detects
 * (its interval excludes 1) with a probability of at least 0.8, given the noise of an A/A pair: the same
 * kernel twice, one value of each per round.  The ends of the interval are order statistics of resampled
 * rounds, whose distribution is computed exactly.  NaN below STATS_CI_MIN rounds. */
double stats_detectable(const double *a, const double *b, size_t rounds);
