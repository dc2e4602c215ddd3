/*
 * distributed_report: measured times beside the model's, and what the model says of clusters.
 */
#include "distributed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "experiments/experiment.h"
#include "experiments/shared/grid.h"
#include "results/report_experiment.h"

static const double lengths[] = {1 << 20, 1 << 22, 1 << 24};
static const double clusters[] = {8, 64, 1024};
static const double hosts[] = {1, 32}; /* times as fast as this one */

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- what was measured ----------------------------------------------------------------------- */

/* "ring": each of ring_1, ring_2, ... */
static bool is_kernel(const json_t *params, const char *name)
{
    return strncmp(experiment_text(params, "kernel"), name, strlen(name)) == 0;
}

/* Useful flop/s of a thread of flash at length s, on at least so many threads or the most there are. */
static double rate_of_flash(const json_t *rows, double s, double threads, double *on)
{
    struct experiment_part part = {.rows = rows, .name = "measured"};
    double rate = NAN;
    *on = 0;
    while (experiment_part_next(&part)) {
        const double n = experiment_number(part.params, "threads");
        if (!is_kernel(part.params, "flash") || experiment_number(part.params, "s") != s ||
            !isfinite(experiment_number(part.values, "gflops")))
            continue;
        if (*on == 0 || (*on < threads ? n > *on : n >= threads && n < *on)) {
            *on = n;
            rate = 1e9 * experiment_number(part.values, "gflops") / n;
        }
    }
    return rate;
}

/* A row's threads are those on the host of its first rank. */
static double threads_of_rank(const json_t *params, const json_t *values)
{
    const double on_hosts = experiment_number(json_object_get(values, "extra"), "hosts");
    const double here = ceil(experiment_number(params, "ranks") / on_hosts);
    return experiment_number(params, "threads") / here;
}

/* What the model needs of a measured row; false where that is not there. */
static bool call_of(const json_t *rows, const json_t *params, const json_t *values,
                    struct distributed_call *call)
{
    const json_t *extra = json_object_get(values, "extra");
    const double s = experiment_number(params, "s"), ranks = experiment_number(params, "ranks");
    const double threads = threads_of_rank(params, values);
    const double seconds = experiment_number(values, "median_s");
    double on;
    const double rate = rate_of_flash(rows, s, ranks * threads, &on);
    *call = (struct distributed_call){
        .flops = 1e9 * experiment_number(values, "gflops") * seconds,
        .kv_bytes = 2 * s * experiment_number(params, "heads") * experiment_number(params, "d") * 4,
        .ranks = ranks,
        .turns = fmax(1, ranks * threads / fmax(on, 1)),
        .flops_per_s = rate * threads,
        .latency_s = ranks > 1 ? experiment_number(extra, "latency_s") : 0,
        .bytes_per_s = ranks > 1 ? 1e9 * experiment_number(extra, "link_gbytes_per_s") : INFINITY,
        .by_cores = experiment_number(extra, "hosts") == 1,
    };
    return isfinite(call->flops) && isfinite(rate) && isfinite(call->latency_s) &&
           !isnan(call->bytes_per_s);
}

/* Percent of the communication that the model hides; NaN without any. */
static double hidden(const struct distributed_time *time)
{
    return 100 * (1 - time->exposed_s / time->communicating_s);
}

static void seconds_cell(struct grid *grid, double seconds)
{
    char text[UNITS_TEXT];
    units_seconds(seconds, text);
    grid_text(grid, "%s", text);
}

static void interval_cell(struct grid *grid, const json_t *values)
{
    char lo[UNITS_TEXT], hi[UNITS_TEXT];
    units_seconds(experiment_at_number(values, "ci95_s", 0), lo);
    units_seconds(experiment_at_number(values, "ci95_s", 1), hi);
    grid_text(grid, *lo ? "%s .. %s" : "%s%s", lo, hi);
}

/* How far the slowest rank's computing lies above the mean of all, percent. */
static double imbalance(const json_t *extra)
{
    return 100 * (experiment_number(extra, "slowest_computing_s") /
                      experiment_number(extra, "computing_s") -
                  1);
}

static void print_measured(const json_t *rows)
{
    struct experiment_part part = {.rows = rows, .name = "measured"};
    static const struct table_column columns[] = {
        {"S", 0, false},           {"ranks", 0, false},    {"thr", 0, false},
        {"median", 0, false},      {"95 %", 1, true},      {"model", 0, false},
        {"error %", 0, false},     {"hidden %", 0, false}, {"allowed %", 0, false},
        {"imbalance %", 0, false},
    };
    struct grid grid = {.table = {.columns = columns, .column_count = COUNT(columns)}};
    struct distributed_call call;
    while (experiment_part_next(&part)) {
        if (!is_kernel(part.params, "ring") || !call_of(rows, part.params, part.values, &call))
            continue;
        const json_t *extra = json_object_get(part.values, "extra");
        const double seconds = experiment_number(part.values, "median_s");
        const double overlap = experiment_number(extra, "overlap");
        const struct distributed_time model = distributed_model(&call);
        grid_row(&grid);
        grid_text(&grid, "%.0f", experiment_number(part.params, "s"));
        grid_text(&grid, "%.0f", call.ranks);
        grid_text(&grid, "%.0f", threads_of_rank(part.params, part.values));
        seconds_cell(&grid, seconds);
        interval_cell(&grid, part.values);
        seconds_cell(&grid, model.seconds);
        grid_number(&grid, "%+.1f", 100 * (model.seconds / seconds - 1));
        grid_number(&grid, "%.0f", 100 * overlap);
        grid_number(&grid, "%.0f", hidden(&model));
        grid_number(&grid, "%.1f", call.ranks > 1 ? imbalance(extra) : NAN);
    }
    grid_print(&grid, "kernel ring against the model");
}

/* ---- what it would be on a cluster ----------------------------------------------------------- */

static void predict_row(struct grid *grid, double host, const char *network, double s,
                        const struct distributed_call *call)
{
    const struct distributed_time time = distributed_model(call);
    grid_row(grid);
    grid_text(grid, "x %.0f", host);
    grid_text(grid, "%s", network);
    grid_text(grid, "%.0fM", s / (1 << 20));
    grid_text(grid, "%.0f", call->ranks);
    seconds_cell(grid, time.seconds);
    grid_number(grid, "%.1f", 100 * call->flops / call->ranks / call->flops_per_s / time.seconds);
    grid_number(grid, "%.0f", hidden(&time));
}

/* A problem of that length, for each network and number of ranks. */
static void predict_length(struct grid *grid, double host, double rate, double s,
                           const json_t *like)
{
    const double heads = experiment_number(like, "heads"), d = experiment_number(like, "d");
    for (size_t n = 0; n < DISTRIBUTED_NETWORKS; n++)
        for (size_t c = 0; c < COUNT(clusters); c++) {
            const struct distributed_call call = {
                .flops = 2 * d * s * (s + 1) * heads, /* causal: half the pairs */
                .kv_bytes = 2 * s * heads * d * 4,
                .ranks = clusters[c],
                .turns = 1,
                .flops_per_s = host * rate,
                .latency_s = distributed_networks[n].latency_s,
                .bytes_per_s = distributed_networks[n].bytes_per_s,
            };
            predict_row(grid, host, distributed_networks[n].name, s, &call);
        }
}

/* Each rank a host that computes as this one does with all its threads, at the longest S measured. */
static void predict(const json_t *rows, const json_t *longest)
{
    static const struct table_column columns[] = {
        {"host", 0, false}, {"network", 0, true},       {"S", 0, false},        {"ranks", 0, false},
        {"time", 0, false}, {"efficiency %", 0, false}, {"hidden %", 0, false},
    };
    struct grid grid = {.table = {.columns = columns, .column_count = COUNT(columns)}};
    double threads;
    const double rate =
        rate_of_flash(rows, experiment_number(longest, "s"), INFINITY, &threads) * threads;
    for (size_t h = 0; h < COUNT(hosts) && isfinite(rate); h++)
        for (size_t l = 0; l < COUNT(lengths); l++)
            predict_length(&grid, hosts[h], rate, lengths[l], longest);
    grid_print(&grid, "predicted: each rank a host like this one, or 32 times as fast");
}

/* ---- findings -------------------------------------------------------------------------------- */

bool distributed_report(const json_t *rows)
{
    struct experiment_part part = {.rows = rows, .name = "measured"};
    struct distributed_call call;
    const json_t *longest = NULL;
    double worst = 0;
    print_measured(rows);
    while (experiment_part_next(&part)) {
        if (!is_kernel(part.params, "ring") || !call_of(rows, part.params, part.values, &call))
            continue;
        const double model = distributed_model(&call).seconds;
        worst = fmax(worst, fabs(model / experiment_number(part.values, "median_s") - 1));
        if (!longest || experiment_number(part.params, "s") >= experiment_number(longest, "s"))
            longest = part.params;
    }
    if (!longest)
        return true; /* without MPI the rows say why */
    predict(rows, longest);
    report_sentence("Over %s the model is at most %.0f %% off what was measured.  Its predictions "
                    "suppose that all links are used at once without disturbing each other.",
                    experiment_text(longest, "network"), 100 * worst);
    return true;
}
