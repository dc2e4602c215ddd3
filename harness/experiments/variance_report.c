/*
 * variance_report: what the variances say.
 */
#include <math.h>
#include <string.h>

#include "experiments/experiment.h"
#include "experiments/grid.h"
#include "experiments/variance.h"
#include "report_experiment.h"

/* Whether a row belongs to the part; its params and values. */
static bool row_of(const json_t *row, const char *part, const json_t **params,
                   const json_t **values)
{
    *params = json_object_get(row, "params");
    *values = json_object_get(row, "values");
    return strcmp(experiment_text(*params, "part"), part) == 0;
}

static bool holds(const json_t *values, const char *interval, double x)
{
    return x >= experiment_at_number(values, interval, 0) &&
           x <= experiment_at_number(values, interval, 1);
}

/* How many published numbers lie outside of their intervals. */
static size_t report_published(const json_t *rows)
{
    static const struct table_column columns[] = {
        {"d", 0, false}, {"var(q.k)", 0, false}, {"95 % interval", 0, false}, {"printed", 0, false},
        {"", 0, true},   {"/ d", 0, false},      {"95 % interval", 0, false}, {"printed", 0, false},
        {"", 0, true},
    };
    struct grid grid = {.table.columns = columns, .table.column_count = 9};
    const json_t *row, *params, *values;
    size_t i, outside = 0;
    json_array_foreach (rows, i, row) {
        if (!row_of(row, "published", &params, &values))
            continue;
        const bool before = json_is_true(json_object_get(values, "before_inside"));
        const bool after = json_is_true(json_object_get(values, "after_inside"));
        grid_row(&grid);
        grid_number(&grid, "%.0f", experiment_number(params, "d"));
        grid_number(&grid, "%.4g", experiment_number(values, "variance"));
        grid_range(&grid, "%.4g", experiment_at_number(values, "ci95", 0),
                   experiment_at_number(values, "ci95", 1));
        grid_number(&grid, "%.5g", experiment_number(values, "before"));
        grid_text(&grid, "%s", before ? "inside" : "OUTSIDE");
        grid_number(&grid, "%.4f", experiment_number(values, "scaled"));
        grid_range(&grid, "%.4f", experiment_at_number(values, "scaled_ci95", 0),
                   experiment_at_number(values, "scaled_ci95", 1));
        grid_number(&grid, "%.5f", experiment_number(values, "after"));
        grid_text(&grid, "%s", after ? "inside" : "OUTSIDE");
        outside += !before + !after;
    }
    grid_print(&grid, "var(q.k) and var(q.k / sqrt(d)) of 1000 trials, beside those printed");
    return outside;
}

/* What the sweeps say together. */
struct sweep {
    size_t rows, held; /* rows; those whose interval holds the exact variance */
    double farthest;   /* largest |variance / exact - 1| */
};

static void sweep_row(struct grid *grid, const json_t *params, const json_t *values,
                      struct sweep *sweep)
{
    const double theory = experiment_number(values, "theory");
    const double variance = experiment_number(values, "variance");
    const bool held = holds(values, "ci95", theory);
    sweep->rows++;
    sweep->held += held;
    sweep->farthest = fmax(sweep->farthest, fabs(variance / theory - 1));
    grid_row(grid);
    grid_text(grid, "%s", experiment_text(params, "input"));
    grid_number(grid, "%.0f", experiment_number(params, "d"));
    grid_number(grid, "%.6g", variance);
    grid_range(grid, "%.6g", experiment_at_number(values, "ci95", 0),
               experiment_at_number(values, "ci95", 1));
    grid_number(grid, "%.6g", theory);
    grid_text(grid, "%s", held ? "" : "not held");
    grid_number(grid, "%.5f", experiment_number(values, "scaled"));
    grid_range(grid, "%.5f", experiment_at_number(values, "scaled_ci95", 0),
               experiment_at_number(values, "scaled_ci95", 1));
    grid_number(grid, "%.5f", experiment_number(values, "scaled_theory"));
}

static struct sweep report_sweep(const json_t *rows)
{
    static const struct table_column columns[] = {
        {"input", 0, true},  {"d", 0, false}, {"var(q.k)", 0, false}, {"95 % interval", 2, false},
        {"exact", 0, false}, {"", 0, true},   {"/ d", 0, false},      {"95 % interval", 1, false},
        {"exact", 0, false},
    };
    struct grid grid = {.table.columns = columns, .table.column_count = 9};
    struct sweep sweep = {0};
    const json_t *row, *params, *values;
    size_t i;
    json_array_foreach (rows, i, row) {
        if (row_of(row, "sweep", &params, &values))
            sweep_row(&grid, params, values, &sweep);
    }
    grid_print(&grid, "var(q.k) and var(q.k / sqrt(d)) over d");
    return sweep;
}

/* Rows of kernels that belong together, as one line: the same d and scale. */
static void kernel_line(struct grid *grid, const json_t *rows, const json_t *like)
{
    double lo = INFINITY, hi = -INFINITY;
    size_t i, n = 0;
    const json_t *row, *params, *values;
    const json_t *mine = json_object_get(like, "params");
    json_array_foreach (rows, i, row) {
        if (!row_of(row, "kernels", &params, &values) ||
            !json_equal(json_object_get(params, "d"), json_object_get(mine, "d")) ||
            !json_equal(json_object_get(params, "scale"), json_object_get(mine, "scale")))
            continue;
        lo = fmin(lo, experiment_number(values, "variance"));
        hi = fmax(hi, experiment_number(values, "variance"));
        n++;
    }
    values = json_object_get(like, "values");
    grid_row(grid);
    grid_number(grid, "%.0f", experiment_number(mine, "d"));
    grid_text(grid, "%s", experiment_text(mine, "scale"));
    grid_number(grid, "%.6g", experiment_number(values, "theory"));
    grid_range(grid, "%.5g", experiment_at_number(values, "ci95", 0),
               experiment_at_number(values, "ci95", 1));
    grid_number(grid, "%.9g", lo);
    grid_number(grid, "%.9g", hi);
    grid_text(grid, "%zu", n);
}

static void report_kernels(const json_t *rows)
{
    static const struct table_column columns[] = {
        {"d", 0, false},       {"scale", 0, true},
        {"exact", 0, false},   {"95 % interval", 0, false},
        {"lowest", 0, false},  {"highest", 0, false},
        {"kernels", 0, false},
    };
    struct grid grid = {.table.columns = columns, .table.column_count = 7};
    const json_t *row, *params, *values;
    const char *first = NULL;
    size_t i;
    json_array_foreach (rows, i, row) {
        if (!row_of(row, "kernels", &params, &values))
            continue;
        first = first ? first : experiment_text(params, "kernel");
        if (strcmp(experiment_text(params, "kernel"), first) == 0)
            kernel_line(&grid, rows, row);
    }
    grid_print(&grid, "variance of the logits that the kernels saw, by the scale they were given");
}

bool variance_report(const json_t *rows)
{
    const size_t outside = report_published(rows);
    const struct sweep sweep = report_sweep(rows);
    report_kernels(rows);
    if (sweep.rows)
        report_sentence(
            "The variance of q.k is d times that of one product, whatever the elements' "
            "distribution (%zu of %zu intervals hold the exact value, the farthest estimate is "
            "%.2g %% off), so only 1/sqrt(d) keeps the logits' spread the same at every d.",
            sweep.held, sweep.rows, 100 * sweep.farthest);
    if (outside)
        report_sentence("%zu published variances lie outside of their intervals.", outside);
    return outside == 0;
}
