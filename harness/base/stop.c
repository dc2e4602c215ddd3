/*
 * stop: the stop rule.  stats has the intervals; their coverage with this rule in force is part
 * of its tests.
 */
#include "stop.h"

#include <math.h>
#include <stdlib.h>

#include "stats.h"

#define TARGET_HALF_WIDTH 0.01

/* The rule looks at every sixth launch only.  Each look is one more chance to stop on an interval
 * that is short by luck: looking after every launch costs up to 3 points of the 95 % coverage (more
 * with a higher cap), every sixth one less than 1 (tests/base/test_coverage.c).  At multiples of 6
 * the exact interval covers 96 to 98 %, which makes up for it. */
#define LOOK_EVERY 6

/* Twice the launches shrink an interval by 1/sqrt(2) = 0.71 where launches are independent.  An
 * interval that kept 95 % of its width is limited by something that more launches do not reduce. */
#define PLATEAU_KEPT 0.95
#define PLATEAU_LAUNCHES 12

static const char *const names[] = {
    [STOP_NOT] = "", [STOP_CI] = "ci", [STOP_PLATEAU] = "plateau", [STOP_CAP] = "cap"};

const char *stop_name(enum stop stop)
{
    return names[stop];
}

double stop_half_width(const double *medians, size_t n, double dependence)
{
    double lo, hi, half = NAN;
    double *sorted = stats_sorted(medians, n);
    if (sorted && n && stats_dependent_ci95(sorted, n, dependence, &lo, &hi))
        half = (hi - lo) / 2 / stats_median(sorted, n);
    free(sorted);
    return half;
}

enum stop stop_decide(const double *medians, size_t n, size_t cap,
                      const struct stats_dependence *known)
{
    const double dependence = stats_dependence_of(known);
    const double half = stop_half_width(medians, n, dependence);
    if (n % LOOK_EVERY != 0 || known->freedom < STATS_DEPENDENCE_ENOUGH)
        return n >= cap ? STOP_CAP : STOP_NOT;
    if (half <= TARGET_HALF_WIDTH)
        return STOP_CI;
    if (n >= PLATEAU_LAUNCHES && half >= PLATEAU_KEPT * stop_half_width(medians, n / 2, dependence))
        return STOP_PLATEAU;
    return n >= cap ? STOP_CAP : STOP_NOT;
}
