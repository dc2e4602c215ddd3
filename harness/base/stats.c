/*
 * stats: order statistics, and the exact interval of a median.
 *
 * The number of n independent values that lie below the population's median is Binomial(n, 1/2),
 * so the r-th and the s-th smallest value enclose it with probability P(r <= B < s), whatever
 * the distribution (Thompson 1936, Ann. Math. Stat. 7:122; Hahn and Meeker, Statistical Intervals,
 * section 5.2).  Hoefler and Belli (SC 2015) recommend the same for performance figures.
 */
#include "stats.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void stats_sort(double *x, size_t n)
{
    qsort(x, n, sizeof *x, ascending);
}

double *stats_sorted(const double *x, size_t n)
{
    double *copy = alloc_bytes(n * sizeof *copy);
    if (copy) {
        memcpy(copy, x, n * sizeof *copy);
        stats_sort(copy, n);
    }
    return copy;
}

double stats_quantile(const double *sorted, size_t n, double q)
{
    assert(n >= 1 && q >= 0 && q <= 1);
    const double at = q * (double)(n - 1);
    const size_t below = (size_t)at;
    if (below + 1 >= n)
        return sorted[n - 1];
    return sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below]);
}

double stats_median(const double *sorted, size_t n)
{
    return stats_quantile(sorted, n, 0.5);
}

double stats_median_of(const double *x, size_t n)
{
    double *sorted = stats_sorted(x, n);
    const double median = sorted ? stats_median(sorted, n) : NAN;
    free(sorted);
    return median;
}

/* P(Binomial(n, 1/2) = k) */
static double binomial_half(size_t n, size_t k)
{
    return exp(lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1) -
               (double)n * log(2));
}

/*
 * The innermost symmetric pair of ranks whose coverage is at least 0.95.
 * scripts/attntools/base/statistics.py computes the same; both are tested against
 * tests/data/interval-ranks.csv.  With one end moved inwards the coverage can be nearer to 0.95, but that end
 * then misses the median with a probability of up to 0.04 instead of 0.025, and a one-sided statement
 * ("slower by at least this much") would be wrong more often than stated.  Symmetric pairs are those of David
 * and Nagaraja (Order Statistics, section 7.1).
 */
bool stats_median_ranks(size_t n, size_t *lo, size_t *hi, double *coverage)
{
    static const double level = 0.95;
    if (n < STATS_CI_MIN)
        return false;
    double outside = binomial_half(n, 0); /* one tail: P(B < lo + 1) */
    size_t r = 0;
    while (r + 1 < n / 2) {
        const double more = outside + binomial_half(n, r + 1);
        if (1 - 2 * more < level)
            break;
        outside = more;
        r++;
    }
    *lo = r;
    *hi = n - 1 - r;
    *coverage = 1 - 2 * outside;
    return true;
}

bool stats_median_ci95(const double *sorted, size_t n, double *lo, double *hi)
{
    size_t first, last;
    double coverage;
    if (!stats_median_ranks(n, &first, &last, &coverage))
        return false;
    *lo = sorted[first];
    *hi = sorted[last];
    return true;
}

/* Sorted logarithms of b / a; NULL where memory is missing. */
static double *log_ratios(const double *a, const double *b, size_t rounds)
{
    double *logs = alloc_bytes(rounds * sizeof *logs);
    for (size_t i = 0; logs && i < rounds; i++)
        logs[i] = log(b[i] / a[i]);
    if (logs)
        stats_sort(logs, rounds);
    return logs;
}

/* Mean -+ t s / sqrt(n), for so few values that no pair of ranks covers 95 %. */
static bool student_ci95(const double *x, size_t n, double *lo, double *hi)
{
    static const double student[STATS_CI_MIN] = {[3] = 4.302653, [4] = 3.182446, [5] = 2.776445};
    double mean = 0, squares = 0;
    if (n < STATS_RATIO_MIN)
        return false;
    for (size_t i = 0; i < n; i++)
        mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (x[i] - mean) * (x[i] - mean);
    const double half = student[n] * sqrt(squares / (double)(n - 1) / (double)n);
    *lo = mean - half;
    *hi = mean + half;
    return true;
}

struct stats_ratio stats_paired_ratio(const double *a, const double *b, size_t rounds)
{
    struct stats_ratio r = {NAN, NAN, NAN, false};
    double *logs = log_ratios(a, b, rounds);
    if (!logs || rounds == 0)
        goto done;
    r.ratio = exp(stats_median(logs, rounds));
    r.interval = rounds < STATS_CI_MIN ? student_ci95(logs, rounds, &r.lo, &r.hi)
                                       : stats_median_ci95(logs, rounds, &r.lo, &r.hi);
    if (r.interval) {
        r.lo = exp(r.lo);
        r.hi = exp(r.hi);
    }
done:
    free(logs);
    return r;
}

/* P(Binomial(n, p) <= k) */
static double binomial_at_most(size_t n, double p, size_t k)
{
    double sum = p <= 0 ? 1 : 0;
    for (size_t i = 0; p > 0 && p < 1 && i <= k; i++)
        sum += exp(lgamma((double)n + 1) - lgamma((double)i + 1) - lgamma((double)(n - i) + 1) +
                   (double)i * log(p) + (double)(n - i) * log1p(-p));
    return sum;
}

/* In a bootstrap sample of n, the value of rank r is at least the k-th smallest of the data (both
 * 0-based) where at most r draws are among the k smaller ones. */
static size_t reached_with(double power, size_t n, size_t r)
{
    size_t k = 0;
    while (k + 1 < n && binomial_at_most(n, (double)(k + 1) / (double)n, r) >= power)
        k++;
    return k;
}

double stats_detectable(const double *a, const double *b, size_t rounds)
{
    static const double power = 0.8;
    size_t lo, hi;
    double coverage, effect = NAN;
    double *logs = log_ratios(a, b, rounds);
    if (logs && stats_median_ranks(rounds, &lo, &hi, &coverage)) {
        /* both are the same kernel: their median difference is chance, and is subtracted */
        const double median = stats_median(logs, rounds);
        const double below = median - logs[reached_with(power, rounds, lo)];
        const double above =
            logs[rounds - 1 - reached_with(power, rounds, rounds - 1 - hi)] - median;
        effect = expm1(fmax(below, above));
    }
    free(logs);
    return effect;
}
