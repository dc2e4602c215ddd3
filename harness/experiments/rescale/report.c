/*
 * report: counts by block and threshold, and ratios of times.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "experiments/shared/grid.h"
#include "rescale.h"
#include "results/report_experiment.h"

#define MOST_THRESHOLDS 8

/* The thresholds of a file of rows, in order of appearance. */
static size_t thresholds_of(const json_t *rows, double thresholds[MOST_THRESHOLDS])
{
    const json_t *row;
    size_t i, n = 0;
    json_array_foreach (rows, i, row) {
        const double t = experiment_number(json_object_get(row, "params"), "threshold");
        bool known = !isfinite(t);
        for (size_t k = 0; k < n; k++)
            known |= thresholds[k] == t;
        if (!known && n < MOST_THRESHOLDS)
            thresholds[n++] = t;
    }
    return n;
}

/* Columns: input, keys, block, then a threshold each.  Rows come threshold by threshold. */
static void print_counts(const json_t *rows)
{
    double thresholds[MOST_THRESHOLDS];
    const size_t count = thresholds_of(rows, thresholds);
    char titles[MOST_THRESHOLDS][24];
    struct table_column columns[3 + MOST_THRESHOLDS] = {
        {"logits", 0, true}, {"keys", 0, false}, {"block", 0, false}};
    for (size_t t = 0; t < count; t++) {
        snprintf(titles[t], sizeof titles[t], "2^%g", thresholds[t]);
        columns[3 + t] = (struct table_column){titles[t], 0, false};
    }
    struct grid grid = {.table.columns = columns, .table.column_count = 3 + count};
    struct experiment_part part = {.rows = rows, .name = "count"};
    size_t cells = count;
    while (experiment_part_next(&part)) {
        const json_t *params = part.params, *values = part.values;
        if (cells == count) {
            grid_row(&grid);
            grid_text(&grid, "%s", experiment_text(params, "input"));
            grid_number(&grid, "%.0f", experiment_number(params, "s"));
            grid_number(&grid, "%.0f", experiment_number(params, "block"));
            cells = 0;
        }
        grid_text(&grid, "%.2f (%.1f%%)", experiment_number(values, "rescales"),
                  100 * experiment_number(values, "share"));
        cells++;
    }
    grid_print(&grid, "rescales per row (share of the blocks), by tolerated growth of the maximum");
}

static double print_times(const json_t *rows)
{
    static const struct table_column columns[] = {{"kernel", 0, true},
                                                  {"keys", 0, true},
                                                  {"median", 0, false},
                                                  {"x descending", 0, false},
                                                  {"95 % interval", 0, false}};
    struct grid grid = {.table.columns = columns, .table.column_count = 5};
    struct experiment_part part = {.rows = rows, .name = "time"};
    double flash = NAN;
    while (experiment_part_next(&part)) {
        const json_t *params = part.params, *values = part.values;
        grid_row(&grid);
        grid_text(&grid, "%s/%s", experiment_text(params, "kernel"),
                  experiment_text(params, "isa"));
        grid_text(&grid, "%s", experiment_text(params, "input"));
        grid_text(&grid, "%.1f us", 1e6 * experiment_number(values, "median_s"));
        grid_number(&grid, "%.3f", experiment_number(values, "ratio"));
        grid_range(&grid, "%.3f", experiment_at_number(values, "ci95", 0),
                   experiment_at_number(values, "ci95", 1));
        if (strcmp(experiment_text(params, "kernel"), "flash") == 0 &&
            strcmp(experiment_text(params, "input"), "ascending") == 0)
            flash = experiment_number(values, "ratio");
    }
    grid_print(&grid, "time of 64 queries by the order of the keys, one thread");
    return flash;
}

/* Rescales per row of normal logits at a block and threshold, NaN where not counted. */
static double normal_at(const json_t *rows, double block, double threshold)
{
    const json_t *row;
    size_t i;
    json_array_foreach (rows, i, row) {
        const json_t *params = json_object_get(row, "params");
        if (strcmp(experiment_text(params, "input"), "normal") == 0 &&
            experiment_number(params, "block") == block &&
            experiment_number(params, "threshold") == threshold)
            return experiment_number(json_object_get(row, "values"), "rescales");
    }
    return NAN;
}

bool rescale_report(const json_t *rows)
{
    print_counts(rows);
    const double flash = print_times(rows);
    const double often = normal_at(rows, 1, 0), blocks = normal_at(rows, 64, 0);
    const double lazy = normal_at(rows, 64, 8);
    if (isfinite(often) && isfinite(blocks) && isfinite(lazy))
        report_sentence("On random logits a row of keys taken one by one rescales %.1f times, in "
                        "blocks of 64 %.1f times, and with a lazy threshold of 2^8 %.2g times.",
                        often, blocks, lazy);
    if (isfinite(flash))
        report_sentence("In flash the worst order of keys takes %.2f times as long as the best.",
                        flash);
    return true;
}
