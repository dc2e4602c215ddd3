/*
 * stats_shape: the shape of a series of times: outliers, two modes, a trend.
 *
 * Values are in the order in which they were measured.  The functions only compute: thresholds are in
 * noise.c.
 */
#pragma once

#include <stddef.h>

/* Number of values that exceed the median by more than 5 scaled median absolute deviations and by more than
 * `least` times the median.  (For normal noise 1.4826 deviations are a standard deviation, and 5 of those are
 * exceeded once in 3.5 million.) */
size_t stats_outliers(const double *x, size_t n, double least);

/* Cuts the sorted values into the two groups with the least sum of squares within (Fisher 1958, Otsu
 * 1979).  Their distance in units of their pooled spread (Ashman, Bird and Zepf 1994), their distance
 * relative to the lower mean, and the share of the smaller group.  For a normal or uniform sample the
 * distance is 2.7 or 3.5; separate modes give more. */
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
