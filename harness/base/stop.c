/*
 * stop: the stop rule.  tests/base/test_coverage.c simulates the coverage of the intervals under this rule.
 */
#include "stop.h"

#include <math.h>
#include <stdlib.h>

#include "stats.h"

#define TARGET_HALF_WIDTH 0.01

/* The rule is evaluated after every sixth launch only.  Each evaluation is one more chance to stop on an
 * interval that is short by luck: after every launch it costs up to 3 points of the 95 % coverage (more
 * with a higher cap), after every sixth less than 1 (tests/base/test_coverage.c), and for multiples of 6
 * launches the exact interval covers 96 to 98 %, which makes up for that. */
#define LOOK_EVERY 6

/* Twice as many independent launches make an interval 1/sqrt(2) = 0.71 times as wide.  An interval that
 * kept 95 % of its width is limited by something that more launches do not reduce. */
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
