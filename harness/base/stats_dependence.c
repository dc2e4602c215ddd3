/*
 * stats_dependence: rank autocorrelation of short series, and wider intervals.
 *
 * The estimate uses ranks: a single slow launch weighs no more than any other, and for independent values its
 * distribution does not depend on theirs (Wald and Wolfowitz 1943, Ann. Math. Stat. 14:378; Bartels 1982,
 * JASA 77:40).  The lag-1 autocorrelation r of n values about their own mean is biased: E r = rho - (1 + 4
 * rho) / n to first order (Kendall 1954, Marriott and Pope 1954, Biometrika 41), exactly -1/n where rho = 0.
 * The pooled estimate over several series, sum(n r + 1) / sum(n - 4), corrects for that.  A session has few
 * launches, so the estimate has a standard error of 0.05 to 0.3; an interval that trusted it would be too
 * short whenever the estimate is too low.  So one standard error is added (that of an autocorrelation,
 * sqrt((1 - rho^2) / n), Box and Jenkins, section 6.2.2).
 *
 * The width: the variance of the mean of n values is V / n times theirs, V = 1 + 2 sum (1 - k/n) rho_k, and
 * their sample variance about that mean is too small by the factor 1 - V / n.  In a first-order
 * autoregression the correlation rho_k at distance k is rho^k.  Launches are different: on two machines
 * (docs/measuring.md) each had noise of its own on top of a level that lasts for ten launches and more, so
 * that rho_1 is 0.2 and rho_5 hardly less.  Therefore rho_k = rho * max(rho, LASTS)^(k - 1).
 */
#include "stats_dependence.h"

#include <math.h>
#include <stdlib.h>

#include "alloc.h"
#include "stats.h"

/* Short series understate large correlations by more than the first order.  With rho (1 + 0.4 rho) the
 * simulated coverage stays above 0.92 up to rho = 0.9 (tests/base/test_coverage.c).  At rho = 0 it
 * changes nothing. */
#define BEYOND 0.4

/* rho_{k+1} / rho_k is taken to be at least this. */
#define LASTS 0.85

/* A larger correlation cannot be distinguished from a permanent drift. */
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
    double *ranks = alloc_bytes(n * sizeof *ranks), products = 0, squares = 0;
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
    const double rho = fmin(1, fmax(0, pool->products / pool->freedom));
    const double error = sqrt((1 - rho * rho) / pool->freedom);
    return fmin(MOST, fmax(rho * (1 + BEYOND * rho), pool->products / pool->freedom + error));
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
    const double count = (double)n, kept = fmax(dependence, LASTS);
    double v = 1, rho = dependence;
    for (size_t k = 1; k < n; k++, rho *= kept)
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
