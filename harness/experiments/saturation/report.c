/*
 * report: tables, and the d at which learning stops.
 */
#include <math.h>
#include <string.h>

#include "experiments/experiment.h"
#include "experiments/shared/grid.h"
#include "saturation.h"
#include "results/report_experiment.h"

static void fill(struct grid *grid, const json_t *params, const json_t *values)
{
    const char *prefix = experiment_text(params, "prefix");
    grid_row(grid);
    if (*prefix)
        grid_text(grid, "%shead %.0f", prefix, experiment_number(params, "head"));
    else
        grid_text(grid, "%s", experiment_text(params, "input"));
    grid_number(grid, "%.0f", experiment_number(params, "d"));
    grid_text(grid, "%s", experiment_text(params, "scale"));
    grid_number(grid, "%.3f", experiment_number(values, "entropy"));
    grid_number(grid, "%.1f", experiment_number(values, "effective_keys"));
    grid_number(grid, "%.3f", experiment_number(values, "largest"));
    grid_number(grid, "%.3g", experiment_number(values, "jacobian"));
    grid_number(grid, "%.3g", experiment_number(values, "gradient"));
    grid_number(grid, "%.0f%%", 100 * experiment_number(values, "dead"));
}

static void print_part(const json_t *rows, const char *name, const char *heading)
{
    static const struct table_column columns[] = {
        {"input", 0, true},     {"d", 0, false},        {"scale", 0, true},
        {"entropy", 0, false},  {"in use", 0, false},   {"largest", 0, false},
        {"Jacobian", 0, false}, {"gradient", 0, false}, {"dead", 0, false}};
    struct grid grid = {.table.columns = columns, .table.column_count = 9};
    struct experiment_part part = {.rows = rows, .name = name};
    while (experiment_part_next(&part))
        fill(&grid, part.params, part.values);
    grid_print(&grid, heading);
}

/* What normal inputs show at scale 1 and at 1/sqrt(d). */
struct end {
    double stops;            /* the first d at which most rows are dead, NaN where there is none */
    double last, dead, keys; /* at the largest d: share of dead rows, keys in use */
    double lowest, highest;  /* keys in use at 1/sqrt(d) over all d */
};

static struct end find_end(const json_t *rows)
{
    struct end end = {.stops = NAN, .lowest = INFINITY};
    const json_t *row;
    size_t i;
    json_array_foreach (rows, i, row) {
        const json_t *params = json_object_get(row, "params");
        const json_t *values = json_object_get(row, "values");
        const double d = experiment_number(params, "d");
        const double keys = experiment_number(values, "effective_keys");
        if (strcmp(experiment_text(params, "input"), "normal") != 0)
            continue;
        if (strcmp(experiment_text(params, "scale"), "d^-1/2") == 0) {
            end.lowest = fmin(end.lowest, keys);
            end.highest = fmax(end.highest, keys);
        }
        if (strcmp(experiment_text(params, "scale"), "1") != 0)
            continue;
        end.last = d;
        end.keys = keys;
        end.dead = experiment_number(values, "dead");
        if (isnan(end.stops) && end.dead > 0.5)
            end.stops = d;
    }
    return end;
}

bool saturation_report(const json_t *rows)
{
    print_part(rows, "random", "random queries and keys");
    print_part(rows, "real", "heads of all-MiniLM-L6-v2");
    const struct end end = find_end(rows);
    if (end.last > 0)
        report_sentence("Without a scale %.1f keys are in use at d = %.0f and %.0f %% of the rows "
                        "are dead; with 1/sqrt(d) there are %.0f to %.0f at every d.",
                        end.keys, end.last, 100 * end.dead, end.lowest, end.highest);
    if (isfinite(end.stops))
        report_sentence("Learning stops at d = %.0f: from there on most rows pass less than a "
                        "thousandth of the gradient that they pass with 1/sqrt(d).",
                        end.stops);
    return true;
}
