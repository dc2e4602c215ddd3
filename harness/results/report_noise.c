/*
 * report_noise: how small a difference a session could have seen, and where its time went.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "report.h"
#include "report_rows.h"
#include "base/stats.h"
#include "base/number.h"

/* One number of every line that has it; returns how many. */
static size_t collect(const json_t *lines, const char *key, double *x)
{
    size_t i, n = 0;
    const json_t *line;
    json_array_foreach (lines, i, line) {
        x[n] = number_at(line, NULL, key);
        n += !isnan(x[n]);
    }
    return n;
}

void report_noise(const json_t *lines)
{
    double *x = alloc_zeroed(json_array_size(lines) + 1, sizeof *x);
    if (!x)
        return;
    char text[512];
    size_t used = 0, n = collect(lines, "ratio", x);
    for (size_t i = 0; i < n; i++)
        x[i] = fabs(x[i] - 1);
    if (n)
        used =
            (size_t)snprintf(text, sizeof text,
                             "noise check: a kernel launched twice a round differed from itself by "
                             "%.1f%%",
                             100 * stats_median_of(x, n));
    n = collect(lines, "detectable", x);
    stats_sort(x, n);
    if (n)
        used +=
            (size_t)snprintf(text + used, sizeof text - used,
                             "; a difference of %.1f%% would have shown", 100 * stats_median(x, n));
    if (n > 1)
        snprintf(text + used, sizeof text - used, " (in the noisiest of %zu cases %.1f%%)", n,
                 100 * x[n - 1]);
    if (used)
        table_wrap(report_output.out, text, report_output.width, 0);
    report_flush();
    free(x);
}

void report_time(double wall_s, double probing_s, double own_s)
{
    char text[160];
    snprintf(text, sizeof text,
             "time: %.1f s, of which measuring ceilings took %.1f%% and the harness itself %.1f%%",
             wall_s, 100 * probing_s / wall_s, 100 * own_s / wall_s);
    table_wrap(report_output.out, text, report_output.width, 0);
    report_flush();
}
