/*
 * report: a row for each input, storage type, kernel and length.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "error_growth.h"
#include "experiments/experiment.h"
#include "experiments/shared/grid.h"
#include "results/report_experiment.h"

static void fill(struct grid *grid, const json_t *params, const json_t *values)
{
    const double rms = experiment_number(values, "rms");
    const double mean = experiment_number(values, "mean");
    grid_row(grid);
    grid_text(grid, "%s", experiment_text(params, "input"));
    grid_text(grid, "%s", experiment_text(params, "dtype"));
    grid_text(grid, "%s", experiment_text(params, "kernel"));
    grid_number(grid, "%.0f", experiment_number(params, "s"));
    grid_number(grid, "%.2e", experiment_number(values, "max"));
    grid_number(grid, "%.2e", rms);
    grid_number(grid, "%.1e", rms / experiment_number(values, "output_rms"));
    grid_number(grid, "%+.1e", mean);
    grid_number(grid, "%+.1f", mean / experiment_number(values, "mean_se"));
    grid_number(grid, "%.2e", experiment_number(values, "bound_rms"));
    grid_number(grid, "%.4f", experiment_number(values, "error_over_bound"));
    if (!(experiment_number(values, "error_over_bound") <= 1))
        grid_style(grid, TABLE_BAD);
}

static bool is(const json_t *params, const char *name, const char *value)
{
    return strcmp(experiment_text(params, name), value) == 0;
}

/* Least squares slope of log(rms / output) over log(s) for f32 and N(0, 1), all kernels together. */
static double slope(const json_t *rows)
{
    double n = 0, x1 = 0, y1 = 0, xx = 0, xy = 0;
    const json_t *row;
    size_t i;
    json_array_foreach (rows, i, row) {
        const json_t *params = json_object_get(row, "params");
        const json_t *values = json_object_get(row, "values");
        const double x = log(experiment_number(params, "s"));
        const double y =
            log(experiment_number(values, "rms") / experiment_number(values, "output_rms"));
        if (!is(params, "dtype", "f32") || !is(params, "input", "normal") || !isfinite(y))
            continue;
        n++;
        x1 += x;
        y1 += y;
        xx += x * x;
        xy += x * y;
    }
    return (n * xy - x1 * y1) / (n * xx - x1 * x1);
}

/* Which kernels come nearest to their bound behind a sink of the most keys, in f32, and furthest. */
static void report_sink(const json_t *rows)
{
    const char *worst_name = "", *best_name = "";
    double keys = 0, worst = -1, best = INFINITY;
    const json_t *row;
    size_t i;
    json_array_foreach (rows, i, row) {
        const json_t *params = json_object_get(row, "params");
        const double s = experiment_number(params, "s");
        const double share = experiment_number(json_object_get(row, "values"), "error_over_bound");
        if (!is(params, "input", "sink") || !is(params, "dtype", "f32") || s < keys)
            continue;
        if (s > keys) {
            worst = -1;
            best = INFINITY;
        }
        keys = s;
        worst_name = share > worst ? experiment_text(params, "kernel") : worst_name;
        worst = fmax(worst, share);
        best_name = share < best ? experiment_text(params, "kernel") : best_name;
        best = fmin(best, share);
    }
    if (worst >= 0)
        report_sentence(
            "Behind a sink among %.0f keys in f32 %s comes to %.3g of its bound, %s, which "
            "sums in lanes and blocks, to %.3g.",
            keys, worst_name, worst, best_name, best);
}

bool error_growth_report(const json_t *rows)
{
    static const struct table_column columns[] = {
        {"input", 0, true},   {"type", 0, true},   {"kernel", 0, true},  {"keys", 0, false},
        {"max", 0, false},    {"RMS", 0, false},   {"/ |O|", 0, false},  {"mean", 1, false},
        {"/ s.e.", 1, false}, {"bound", 0, false}, {"err/bnd", 0, false}};
    struct grid grid = {.table.columns = columns, .table.column_count = 11};
    const json_t *row;
    double worst = 0;
    size_t i, biased = 0, count = 0;
    json_array_foreach (rows, i, row) {
        const json_t *params = json_object_get(row, "params");
        const json_t *values = json_object_get(row, "values");
        const double share = experiment_number(values, "error_over_bound");
        fill(&grid, params, values);
        worst = share <= worst ? worst : share;
        if (!is(params, "input", "normal"))
            continue;
        count++;
        biased +=
            fabs(experiment_number(values, "mean")) > 3 * experiment_number(values, "mean_se");
    }
    grid_print(&grid, "errors against float64, over the number of keys");
    if (count)
        report_sentence("In f32 the error relative to the output grows as the keys to the power of "
                        "%.2f, and the mean lies beyond 3 standard errors in %zu of %zu rows.",
                        slope(rows), biased, count);
    report_sink(rows);
    report_sentence("The largest error of all is %.3f of its bound.", worst);
    return worst <= 1;
}
