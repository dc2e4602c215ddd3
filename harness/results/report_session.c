/*
 * report_session: the smallest difference that a session could detect, and where its time went.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/message.h"
#include "base/alloc.h"
#include "report.h"
#include "report_rows.h"
#include "base/stats.h"
#include "base/members.h"

/* Collects a number from every line that has it; returns how many. */
static size_t collect(const json_t *lines, const char *key, double *x)
{
    size_t i, n = 0;
    const json_t *line;
    json_array_foreach (lines, i, line) {
        x[n] = member_number(line, key);
        n += !isnan(x[n]);
    }
    return n;
}

void report_session_noise(const json_t *lines)
{
    double *x = alloc_zeroed(json_array_size(lines) + 1, sizeof *x);
    if (!x)
        return;
    char text[512] = "";
    size_t n = collect(lines, "ratio", x);
    for (size_t i = 0; i < n; i++)
        x[i] = fabs(x[i] - 1);
    if (n)
        snprintf(text, sizeof text,
                 "noise check: a kernel launched twice a round differed from itself by %.1f%%",
                 100 * stats_median_of(x, n));
    n = collect(lines, "detectable", x);
    stats_sort(x, n);
    if (n)
        message_add(text, sizeof text, "; a difference of %.1f%% would have shown",
                    100 * stats_median(x, n));
    if (n > 1)
        message_add(text, sizeof text, " (in the noisiest of %zu cases %.1f%%)", n, 100 * x[n - 1]);
    if (*text)
        report_wrapped(0, "%s", text);
    report_flush();
    free(x);
}

void report_session_time(const json_t *end)
{
    static const struct {
        const char *key, *what;
    } parts[] = {{"preparing_s", "preparing"},
                 {"checking_s", "checking"},
                 {"timing_s", "timing"},
                 {"probing_s", "measuring ceilings"},
                 {"overhead_s", "the harness itself"}};
    const double wall_s = member_number(end, "wall_s");
    char text[256];
    snprintf(text, sizeof text, "time: %.1f s", wall_s);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        message_add(text, sizeof text, "%s%s %.1f%%", i ? ", " : ": ", parts[i].what,
                    100 * member_number(end, parts[i].key) / wall_s);
    report_wrapped(0, "%s", text);
    report_flush();
}
