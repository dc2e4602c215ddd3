/*
 * report: errors, times, and the degree that is enough.
 */
#include <math.h>
#include <string.h>

#include "exp_degree.h"
#include "experiments/experiment.h"
#include "experiments/shared/grid.h"
#include "results/report_experiment.h"

static void print_errors(const json_t *rows)
{
    static const struct table_column columns[] = {{"type", 0, true},
                                                  {"degree", 0, false},
                                                  {"error of 2^x", 0, false},
                                                  {"RMS of the output", 0, false},
                                                  {"/ |O|", 0, false}};
    struct grid grid = {.table.columns = columns, .table.column_count = 5};
    struct experiment_part part = {.rows = rows, .name = "error"};
    while (experiment_part_next(&part)) {
        const json_t *params = part.params, *values = part.values;
        grid_row(&grid);
        grid_text(&grid, "%s", experiment_text(params, "dtype"));
        grid_number(&grid, "%.0f", experiment_number(params, "degree"));
        grid_number(&grid, "%.1e", experiment_number(values, "exp_error"));
        grid_number(&grid, "%.2e", experiment_number(values, "rms"));
        grid_number(&grid, "%.2e", experiment_number(values, "relative"));
    }
    grid_print(&grid, "error of attention by the degree of its exponential");
}

static void print_times(const json_t *rows)
{
    static const struct table_column columns[] = {{"degree", 0, false},
                                                  {"time of 2^x", 0, false},
                                                  {"x highest", 0, false},
                                                  {"95 % interval", 0, false}};
    struct grid grid = {.table.columns = columns, .table.column_count = 4};
    struct experiment_part part = {.rows = rows, .name = "time"};
    while (experiment_part_next(&part)) {
        const json_t *params = part.params, *values = part.values;
        grid_row(&grid);
        grid_number(&grid, "%.0f", experiment_number(params, "degree"));
        grid_text(&grid, "%.3f ns", 1e9 * experiment_number(values, "seconds"));
        grid_number(&grid, "%.3f", experiment_number(values, "ratio"));
        grid_range(&grid, "%.3f", experiment_at_number(values, "ci95", 0),
                   experiment_at_number(values, "ci95", 1));
    }
    grid_print(&grid, "time of an exponential alone, one thread");
}

/* The first degree whose output error is within a tenth of the best of its type; NaN without rows. */
static double enough(const json_t *rows, const char *dtype)
{
    const json_t *row;
    double best = INFINITY;
    size_t i;
    for (int pass = 0; pass < 2; pass++)
        json_array_foreach (rows, i, row) {
            const json_t *params = json_object_get(row, "params");
            const double error = experiment_number(json_object_get(row, "values"), "rms");
            if (strcmp(experiment_text(params, "dtype"), dtype) != 0)
                continue;
            if (pass == 0)
                best = fmin(best, error);
            else if (error <= 1.1 * best)
                return experiment_number(params, "degree");
        }
    return NAN;
}

bool exp_degree_report(const json_t *rows)
{
    print_errors(rows);
    print_times(rows);
    const double f32 = enough(rows, "f32"), bf16 = enough(rows, "bf16"), f16 = enough(rows, "f16");
    if (isfinite(f32) && isfinite(bf16) && isfinite(f16))
        report_sentence("Degree %.0f is enough in f32, %.0f in f16 and %.0f in bf16: "
                        "no higher degree lowers the output's error by a tenth.",
                        f32, f16, bf16);
    return true;
}
