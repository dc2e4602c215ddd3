/*
 * stats_dependence: rank autocorrelation of short series, and wider intervals.
 *
 * The estimate takes ranks, so that a single slow launch weighs no more than any other, and what
 * independent values give does not depend on their distribution (Wald and Wolfowitz 1943, Ann. Math.
 * Stat. 14:378; Bartels 1982, JASA 77:40).  The lag-1 autocorrelation r of n values about their own
 * mean is too low: E r = rho - (1 + 4 rho) / n to first order (Kendall 1954, Marriott and Pope 1954,
 * Biometrika 41), exactly -1/n where rho = 0.  Over several series sum(n r + 1) / sum(n - 4) has that
 * taken off.
 *
 * The width: in a first-order autoregression the mean of n values has V / n of their variance,
 * V = 1 + 2 sum (1 - k/n) rho^k, and the spread that they show about it is too small by 1 - V / n.
 */
#include "stats_dependence.h"

#include <math.h>
#include <stdlib.h>

#include "alloc.h"
#include "stats.h"

/* Short series understate large correlations by more than the first order, and an estimate that is
 * too low by chance costs more coverage than one that is too high gains.  With rho (1 + 0.4 rho) the
 * simulated coverage stays above 0.92 up to rho = 0.9 (tests/base/test_coverage.c); with 0.25 it fell
 * to 0.90.  At rho = 0 it changes nothing. */
#define BEYOND 0.4

/* More cannot be told from a drift that never ends. */
#define MOST 0.97

/* Centred ranks, equal values sharing theirs. */
static void rank(const double *x, size_t n, double *ranks)
{
    for (size_t i = 0; i < n; i++) {
        ranks[i] = 0;
        for (size_t j = 0; j < n; j++)
            ranks[i] += ((x[j] < x[i]) - (x[j] > x[i])) / 2.0;
    }
}

bool stats_dependence_add(struct stats_dependence *pool, const double *x, size_t n)
{
    if (n < STATS_CI_MIN)
        return true;
    double *ranks = alloc_take(n * sizeof *ranks), products = 0, squares = 0;
    if (!ranks)
        return false;
    rank(x, n, ranks);
    for (size_t i = 0; i < n; i++) {
        squares += ranks[i] * ranks[i];
        products += i > 0 ? ranks[i] * ranks[i - 1] : 0;
    }
    free(ranks);
    if (squares > 0) /* else all are equal, as independent values can be */
        products = (double)n * products / squares + 1;
    pool->products += products;
    pool->freedom += (double)n - 4;
    return true;
}

double stats_dependence_of(const struct stats_dependence *pool)
{
    if (pool->freedom < STATS_DEPENDENCE_LEAST)
        return NAN;
    const double rho = fmax(0, pool->products / pool->freedom);
    return fmin(MOST, rho * (1 + BEYOND * rho));
}

struct stats_dependence stats_dependence_taken(struct stats_dependence own,
                                               struct stats_dependence all)
{
    const bool more = own.products * all.freedom > all.products * own.freedom;
    return own.freedom >= STATS_DEPENDENCE_OWN && more ? own : all;
}

double stats_dependence_widens(size_t n, double dependence)
{
    if (!(dependence > 0))
        return 1;
    const double count = (double)n;
    double v = 1, rho = dependence;
    for (size_t k = 1; k < n; k++, rho *= dependence)
        v += 2 * (1 - (double)k / count) * rho;
    return sqrt(v * (1 - 1 / count) / (1 - v / count));
}

bool stats_dependent_ci95(const double *sorted, size_t n, double dependence, double *lo, double *hi)
{
    if (!stats_median_ci95(sorted, n, lo, hi))
        return false;
    const double median = stats_median(sorted, n);
    const double wider = stats_dependence_widens(n, dependence);
    *lo = wider > 1 ? median * pow(*lo / median, wider) : *lo;
    *hi = wider > 1 ? median * pow(*hi / median, wider) : *hi;
    return true;
}
