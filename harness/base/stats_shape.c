/*
 * stats_shape: outliers, two modes, a trend.
 */
#include "stats_shape.h"

#include <math.h>
#include <stdlib.h>

#include "alloc.h"
#include "stats.h"

size_t stats_outliers(const double *x, size_t n, double least)
{
    double *away = alloc_bytes(n * sizeof *away);
    if (!away || n == 0) {
        free(away);
        return 0;
    }
    const double median = stats_median_of(x, n);
    for (size_t i = 0; i < n; i++)
        away[i] = fabs(x[i] - median);
    stats_sort(away, n);
    const double limit = median + fmax(5 * 1.4826 * stats_median(away, n), least * median);
    size_t outliers = 0;
    for (size_t i = 0; i < n; i++)
        outliers += x[i] > limit;
    free(away);
    return outliers;
}

/* Sum of squared distances from their mean of n values with this sum and sum of squares. */
static double about_mean(double sum, double squares, double n)
{
    return fmax(0, squares - sum * sum / n);
}

struct stats_modes stats_modes(const double *x, size_t n)
{
    struct stats_modes modes = {0};
    double *sorted = stats_sorted(x, n);
    if (!sorted || n < 4)
        goto done;
    const double origin = sorted[n / 2]; /* keeps the sums of squares small */
    double sum = 0, squares = 0, best = INFINITY;
    for (size_t i = 0; i < n; i++) {
        sum += sorted[i] - origin;
        squares += (sorted[i] - origin) * (sorted[i] - origin);
    }
    double low_sum = 0, low_squares = 0;
    for (size_t i = 0; i + 1 < n; i++) {
        const double value = sorted[i] - origin, low = (double)(i + 1), high = (double)n - low;
        low_sum += value;
        low_squares += value * value;
        const double low_spread = about_mean(low_sum, low_squares, low);
        const double high_spread = about_mean(sum - low_sum, squares - low_squares, high);
        if (low_spread + high_spread >= best)
            continue;
        best = low_spread + high_spread;
        const double apart = (sum - low_sum) / high - low_sum / low;
        const double pooled = sqrt((low_spread / low + high_spread / high) / 2);
        modes.distance = pooled > 0 ? apart / pooled : apart > 0 ? INFINITY : 0;
        modes.relative = apart / (origin + low_sum / low);
        modes.minority = fmin(low, high) / (double)n;
    }
done:
    free(sorted);
    return modes;
}

/* Variance of Kendall's S, corrected for groups of equal values. */
static double kendall_variance(const double *x, size_t n)
{
    double *sorted = stats_sorted(x, n);
    if (!sorted)
        return INFINITY;
    const double all = (double)n;
    double variance = all * (all - 1) * (2 * all + 5);
    for (size_t i = 0, tied; i < n; i += tied) {
        for (tied = 1; i + tied < n && sorted[i + tied] == sorted[i]; tied++)
            ;
        const double t = (double)tied;
        variance -= t * (t - 1) * (2 * t + 5);
    }
    free(sorted);
    return variance / 18;
}

struct stats_trend stats_trend(const double *x, size_t n)
{
    struct stats_trend trend = {0};
    if (n < 4)
        return trend;
    double *slopes = alloc_bytes(n * (n - 1) / 2 * sizeof *slopes);
    if (!slopes)
        return trend;
    size_t pairs = 0;
    double s = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++) {
            s += (x[j] > x[i]) - (x[j] < x[i]);
            slopes[pairs++] = (x[j] - x[i]) / (double)(j - i);
        }
    stats_sort(slopes, pairs);
    trend.change = stats_median(slopes, pairs) * (double)(n - 1) / stats_median_of(x, n);
    const double variance = kendall_variance(x, n);
    if (variance > 0 && s != 0)
        trend.z = (s > 0 ? s - 1 : s + 1) / sqrt(variance);
    free(slopes);
    return trend;
}
