/*
 * stats_dependence: how much a launch resembles the one before it, and what that costs an interval.
 *
 * Launches that lie close in time share the state of the machine.  Twenty of which each resembles
 * the last say less than twenty that do not; the interval of stats.h, exact for independent ones,
 * then misses the median more often than it says, and is widened.
 */
#ifndef HARNESS_BASE_STATS_DEPENDENCE_H
#define HARNESS_BASE_STATS_DEPENDENCE_H

#include <stdbool.h>
#include <stddef.h>

/* Evidence from one or several series of values, each in the order taken; {0}: none. */
struct stats_dependence {
    double products; /* sum over series of n r + 1, r the lag-1 autocorrelation of the ranks */
    double freedom;  /* sum of n - 4 */
};

/* The least freedom for an estimate: one series of 12 values, or four of 6; for one that a series
 * gives of itself, beside that of all: 24 values; and for a decision to stop on it. */
#define STATS_DEPENDENCE_LEAST 8.0
#define STATS_DEPENDENCE_OWN 20.0
#define STATS_DEPENDENCE_ENOUGH 40.0

/* Adds a series; one below STATS_CI_MIN values says nothing.  False where memory is missing. */
bool stats_dependence_add(struct stats_dependence *pool, const double *x, size_t n);

/* The correlation of neighbours, 0 to 0.97; NaN below STATS_DEPENDENCE_LEAST. */
double stats_dependence_of(const struct stats_dependence *pool);

/* What to take for a series: the evidence of all series that share a machine, or its own, where that
 * is there and says more dependence. */
struct stats_dependence stats_dependence_taken(struct stats_dependence own,
                                               struct stats_dependence all);

/* By how much the interval of n values is to be wider than that of as many independent ones, at least
 * 1; 1 where the dependence is NaN, unknown. */
double stats_dependence_widens(size_t n, double dependence);

/* The interval of stats_median_ci95(), each end moved away from the median so much, on the scale of
 * logarithms: x > 0.  False below STATS_CI_MIN values. */
bool stats_dependent_ci95(const double *sorted, size_t n, double dependence, double *lo,
                          double *hi);

#endif
