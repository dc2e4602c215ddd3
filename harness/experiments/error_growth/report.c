/*
 * report: a table per storage type, lengths by kernels.
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

/* Least squares slope of log(rms / output) over log(s) for f32, all kernels together. */
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
        if (strcmp(experiment_text(params, "dtype"), "f32") != 0 || !isfinite(y))
            continue;
        n++;
        x1 += x;
        y1 += y;
        xx += x * x;
        xy += x * y;
    }
    return (n * xy - x1 * y1) / (n * xx - x1 * x1);
}

bool error_growth_report(const json_t *rows)
{
    static const struct table_column columns[] = {
        {"type", 0, true},   {"kernel", 0, true},  {"keys", 0, false}, {"max", 0, false},
        {"RMS", 0, false},   {"/ |O|", 0, false},  {"mean", 1, false}, {"/ s.e.", 1, false},
        {"bound", 0, false}, {"err/bnd", 0, false}};
    struct grid grid = {.table.columns = columns, .table.column_count = 10};
    const json_t *row;
    double worst = 0;
    size_t i, biased = 0, count = json_array_size(rows);
    json_array_foreach (rows, i, row) {
        const json_t *values = json_object_get(row, "values");
        const double share = experiment_number(values, "error_over_bound");
        fill(&grid, json_object_get(row, "params"), values);
        worst = share <= worst ? worst : share;
        biased +=
            fabs(experiment_number(values, "mean")) > 3 * experiment_number(values, "mean_se");
    }
    grid_print(&grid, "errors against float64, over the number of keys");
    report_sentence("In f32 the error relative to the output grows as the keys to the power of "
                    "%.2f; the largest error is %.3f of its bound, and the mean lies beyond 3 "
                    "standard errors in %zu of %zu rows.",
                    slope(rows), worst, biased, count);
    return worst <= 1;
}
