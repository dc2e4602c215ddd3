/*
 * stats_dependence: correlation of neighbouring launches, and the wider interval that follows from it.
 *
 * Launches close in time share the state of the machine.  Twenty correlated launches say less than twenty
 * independent ones: the interval of stats.h, which is exact for independent launches, would miss the median
 * more often than stated.  So it is widened.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Evidence from one or several series of values, each in the order taken; {0}: none. */
struct stats_dependence {
    double products; /* sum over series of n r + 1, r the lag-1 autocorrelation of the ranks */
    double freedom;  /* sum of n - 4 */
};

/* Degrees of freedom needed for an estimate (one series of 12 values, or four of 6); for a series' own
 * estimate to be used beside that of all series (24 values); and for deciding when to stop. */
#define STATS_DEPENDENCE_LEAST 8.0
#define STATS_DEPENDENCE_OWN 20.0
#define STATS_DEPENDENCE_ENOUGH 40.0

/* Adds a series; fewer than STATS_CI_MIN values are ignored.  False where memory is missing. */
bool stats_dependence_add(struct stats_dependence *pool, const double *x, size_t n);

/* The correlation of neighbours, 0 to 0.97; NaN below STATS_DEPENDENCE_LEAST. */
double stats_dependence_of(const struct stats_dependence *pool);

/* The correlation to use for a series: that of all series on the machine, or its own if known and
 * larger. */
struct stats_dependence stats_dependence_taken(struct stats_dependence own,
                                               struct stats_dependence all);

/* Factor, at least 1, by which the interval of n values is wider than that of independent ones; 1 where the
 * dependence is unknown, NaN. */
double stats_dependence_widens(size_t n, double dependence);

/* The interval of stats_median_ci95(), widened: the distance of each end from the median, in logarithms (x
 * > 0), is multiplied by that factor.  False below STATS_CI_MIN values. */
bool stats_dependent_ci95(const double *sorted, size_t n, double dependence, double *lo,
                          double *hi);
