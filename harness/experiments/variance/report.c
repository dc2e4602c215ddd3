/*
 * report: what the variances say.
 */
#include <math.h>
#include <string.h>

#include "experiments/experiment.h"
#include "experiments/shared/grid.h"
#include "variance.h"
#include "results/report_experiment.h"

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
    struct experiment_part part = {.rows = rows, .name = "published"};
    size_t outside = 0;
    while (experiment_part_next(&part)) {
        const json_t *params = part.params, *values = part.values;
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
    grid_text(grid, "%s", held ? "" : "outside");
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
    struct experiment_part part = {.rows = rows, .name = "sweep"};
    struct sweep sweep = {0};
    while (experiment_part_next(&part))
        sweep_row(&grid, part.params, part.values, &sweep);
    grid_print(&grid, "var(q.k) and var(q.k / sqrt(d)) over d");
    return sweep;
}

/* Rows of kernels that belong together, as one line: the same d and scale. */
static void kernel_line(struct grid *grid, const struct experiment_part *like)
{
    double lo = INFINITY, hi = -INFINITY;
    size_t n = 0;
    const json_t *mine = like->params, *values = like->values;
    struct experiment_part part = {.rows = like->rows, .name = like->name};
    while (experiment_part_next(&part)) {
        if (!json_equal(json_object_get(part.params, "d"), json_object_get(mine, "d")) ||
            !json_equal(json_object_get(part.params, "scale"), json_object_get(mine, "scale")))
            continue;
        lo = fmin(lo, experiment_number(part.values, "variance"));
        hi = fmax(hi, experiment_number(part.values, "variance"));
        n++;
    }
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
    struct experiment_part part = {.rows = rows, .name = "kernels"};
    const char *first = NULL;
    while (experiment_part_next(&part)) {
        first = first ? first : experiment_text(part.params, "kernel");
        if (strcmp(experiment_text(part.params, "kernel"), first) == 0)
            kernel_line(&grid, &part);
    }
    grid_print(&grid, "variance of the logits that the kernels saw, by the scale they were given");
}

/* Scaled variances of the heads, from the least to the largest. */
static void report_real(const json_t *rows)
{
    static const struct table_column columns[] = {
        {"head", 0, true},           {"d", 0, false},
        {"var(q.k)", 1, false},      {"/ d", 0, false},
        {"95 % interval", 0, false}, {"independent", 0, false}};
    struct grid grid = {.table.columns = columns, .table.column_count = 6};
    struct experiment_part part = {.rows = rows, .name = "real"};
    double least = INFINITY, most = 0;
    while (experiment_part_next(&part)) {
        const double scaled = experiment_number(part.values, "scaled");
        least = fmin(least, scaled);
        most = fmax(most, scaled);
        grid_row(&grid);
        grid_text(&grid, "%s%.0f", experiment_text(part.params, "prefix"),
                  experiment_number(part.params, "head"));
        grid_number(&grid, "%.0f", experiment_number(part.params, "d"));
        grid_number(&grid, "%.4g", experiment_number(part.values, "variance"));
        grid_number(&grid, "%.3g", scaled);
        grid_range(&grid, "%.3g", experiment_at_number(part.values, "scaled_ci95", 0),
                   experiment_at_number(part.values, "scaled_ci95", 1));
        grid_number(&grid, "%.3g", experiment_number(part.values, "scaled_independent"));
    }
    grid_print(&grid, "var(q.k) and var(q.k / sqrt(d)) of a transformer's heads, and the latter if "
                      "dimensions were independent");
    if (most > 0)
        report_sentence(
            "A trained model does not keep the variance at 1: var(q.k / sqrt(d)) of its heads is "
            "%.2g to %.3g, which it learnt on top of the scale.",
            least, most);
}

bool variance_report(const json_t *rows)
{
    const size_t outside = report_published(rows);
    const struct sweep sweep = report_sweep(rows);
    report_real(rows);
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
