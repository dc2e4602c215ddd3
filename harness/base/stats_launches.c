/*
 * stats_launches: median of launch medians, its interval, and where the variance lies.
 */
#include "stats_launches.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "stats.h"
#include "stats_dependence.h"

/* Every sample in one sorted array; NULL where memory is missing. */
static double *pool(const struct stats_launch *launches, size_t n, size_t *total)
{
    *total = 0;
    for (size_t i = 0; i < n; i++)
        *total += launches[i].n;
    double *all = alloc_bytes(*total * sizeof *all);
    double *to = all;
    for (size_t i = 0; all && i < n; i++) {
        memcpy(to, launches[i].x, launches[i].n * sizeof *to);
        to += launches[i].n;
    }
    if (all)
        stats_sort(all, *total);
    return all;
}

/* Sum of log(x) over a launch, and of the squared distances to its mean. */
static double log_moments(const struct stats_launch *launch, double *mean)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < launch->n; i++)
        sum += log(launch->x[i]);
    *mean = sum / (double)launch->n;
    for (size_t i = 0; i < launch->n; i++)
        squares += (log(launch->x[i]) - *mean) * (log(launch->x[i]) - *mean);
    return squares;
}

/*
 * Method of moments for groups of unequal size (Searle, Casella and McCulloch, Variance
 * Components, section 3.6): with k groups and N values, n0 = (N - sum n_i^2 / N) / (k - 1),
 * between = (MS between - MS within) / n0, at least 0.
 */
static void split_variance(const struct stats_launch *launches, size_t k, struct stats_launches *s)
{
    double total = 0, squared_sizes = 0, grand = 0, within = 0, between = 0, mean;
    for (size_t i = 0; i < k; i++) {
        within += log_moments(&launches[i], &mean);
        total += (double)launches[i].n;
        squared_sizes += (double)launches[i].n * (double)launches[i].n;
        grand += mean * (double)launches[i].n;
    }
    grand /= total;
    for (size_t i = 0; i < k; i++) {
        log_moments(&launches[i], &mean);
        between += (double)launches[i].n * (mean - grand) * (mean - grand);
    }
    if (k < 2 || total <= (double)k)
        return;
    const double n0 = (total - squared_sizes / total) / (double)(k - 1);
    const double mean_within = within / (total - (double)k);
    const double mean_between = between / (double)(k - 1);
    const double variance = fmax(0, (mean_between - mean_within) / n0);
    s->spread_within = sqrt(mean_within);
    s->spread_between = sqrt(variance);
    s->share_between = variance > 0 ? variance / (variance + mean_within) : 0;
    s->design_effect = 1 + (n0 - 1) * s->share_between;
}

bool stats_of_launches(const struct stats_launch *launches, size_t n, double dependence,
                       struct stats_launches *s)
{
    *s = (struct stats_launches){
        .lo = NAN,
        .hi = NAN,
        .spread_within = NAN,
        .spread_between = NAN,
        .share_between = NAN,
        .design_effect = NAN,
    };
    double *medians = alloc_bytes(n * sizeof *medians);
    double *all = pool(launches, n, &s->samples);
    const bool there = medians && all && n > 0;
    if (there) {
        for (size_t i = 0; i < n; i++) {
            assert(launches[i].n > 0);
            medians[i] = stats_median_of(launches[i].x, launches[i].n);
        }
        stats_sort(medians, n);
        s->median = stats_median(medians, n);
        s->interval = stats_dependent_ci95(medians, n, dependence, &s->lo, &s->hi);
        s->min = all[0];
        s->p05 = stats_quantile(all, s->samples, 0.05);
        s->p95 = stats_quantile(all, s->samples, 0.95);
        split_variance(launches, n, s);
    }
    free(medians);
    free(all);
    return there;
}
