/*
 * stats_shape: the shape of a series of times: outliers, two modes, a trend, autocorrelation.
 *
 * Each function takes a series in the order in which it was taken and judges nothing: thresholds
 * stand in noise.c.
 */
#ifndef HARNESS_BASE_STATS_SHAPE_H
#define HARNESS_BASE_STATS_SHAPE_H

#include <stddef.h>

/* Values more than 5 scaled median absolute deviations, and more than `least` of the median, above
 * the median.  (Scaled by 1.4826 a deviation is a standard deviation where noise is normal; 5 of
 * them are then exceeded once in 3.5 million.) */
size_t stats_outliers(const double *x, size_t n, double least);

/* The two groups that a cut of the sorted values separates best (least sum of squares within, as
 * Fisher 1958 and Otsu 1979 cut): their distance in units of their pooled spread (Ashman, Bird and
 * Zepf 1994), their distance relative to the lower mean, and the share of the smaller group.  A
 * normal or uniform sample cut so gives a distance of 2.7 or 3.5; separate modes give more. */
struct stats_modes {
    double distance;
    double relative;
    double minority;
};
struct stats_modes stats_modes(const double *x, size_t n);

/* Trend: Kendall's S as a standard normal z (with continuity correction; ties reduce its
 * variance), and the change over the series by the median slope (Theil and Sen) relative to the
 * median.  z = 0 below 4 values. */
struct stats_trend {
    double z;
    double change;
};
struct stats_trend stats_trend(const double *x, size_t n);

#endif
