/*
 * report: printed digits, and the gradient by multiplier.
 */
#include "softmax.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "experiments/experiment.h"
#include "experiments/shared/grid.h"
#include "results/report_experiment.h"

#define DIGITS 32 /* bytes of a printed number */

static const char *format_of(const char *key)
{
    const struct softmax_printed *printed = softmax_printed;
    while (printed->key && strcmp(printed->key, key) != 0)
        printed++;
    return printed->key ? printed->format : "%.9g";
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* the formats of the table above */

/* Writes the weight in the notebook's format; returns whether it equals the notebook's. */
static bool compare(const char *key, double weight, double printed, char text[DIGITS])
{
    char expected[DIGITS];
    const char *format = format_of(key);
    snprintf(text, DIGITS, format, weight);
    snprintf(expected, DIGITS, format, printed);
    return strcmp(text, expected) == 0;
}

#pragma GCC diagnostic pop

/* One row of weights: all of them, and whether each is as printed. */
static bool published_row(struct grid *grid, const json_t *params, const json_t *values)
{
    const size_t n = json_array_size(json_object_get(values, "weights"));
    const char *key = experiment_text(params, "printed");
    bool same = n > 0;
    grid_row(grid);
    grid_number(grid, "%g", experiment_number(params, "multiplier"));
    grid_text(grid, "%s", experiment_text(params, "by"));
    for (size_t j = 0; j < n; j++) {
        char text[DIGITS];
        same &= compare(key, experiment_at_number(values, "weights", j),
                        experiment_at_number(values, "printed", j), text);
        grid_text(grid, "%s", text);
    }
    while (grid->cell + 1 < grid->table.column_count)
        grid_text(grid, "%s", "");
    grid_text(grid, "%s", same ? "ok" : "DIFFERS");
    grid_style(grid, same ? TABLE_PLAIN : TABLE_BAD);
    return same;
}

static size_t report_published(const json_t *rows)
{
    static const struct table_column columns[] = {
        {"times", 0, false}, {"by", 0, true},  {"p1", 0, false}, {"p2", 0, false},
        {"p3", 0, false},    {"p4", 0, false}, {"p5", 0, false}, {"", 0, true}};
    struct grid grid = {.table.columns = columns, .table.column_count = 8};
    struct experiment_part part = {.rows = rows, .name = "published"};
    size_t wrong = 0;
    while (experiment_part_next(&part))
        wrong += !published_row(&grid, part.params, part.values);
    grid_print(&grid, "softmax of the published logits, in the digits that were printed");
    return wrong;
}

static void sweep_row(struct grid *grid, const json_t *params, const json_t *values)
{
    const double keys = experiment_number(params, "keys");
    grid_row(grid);
    grid_text(grid, "%s", experiment_text(params, "input"));
    grid_number(grid, "%.0f", keys);
    grid_number(grid, "%g", experiment_number(params, "multiplier"));
    grid_number(grid, "%.4f", experiment_number(values, "entropy"));
    grid_number(grid, "%.2f", experiment_number(values, "effective_keys"));
    grid_number(grid, "%.4f", experiment_number(values, "largest"));
    grid_number(grid, "%.3g", experiment_number(values, "jacobian"));
    grid_number(grid, "%.3g", experiment_number(values, "gradient"));
}

/* The multiplier at which the gradient of the longest random rows is largest. */
struct peak {
    double keys, multiplier, gradient, last_multiplier, last_gradient, last_largest;
};

static void note_peak(struct peak *peak, const json_t *params, const json_t *values)
{
    const double keys = experiment_number(params, "keys");
    const double gradient = experiment_number(values, "gradient");
    if (!(keys >= peak->keys))
        return;
    if (keys > peak->keys)
        *peak = (struct peak){.keys = keys};
    peak->last_multiplier = experiment_number(params, "multiplier");
    peak->last_gradient = gradient;
    peak->last_largest = experiment_number(values, "largest");
    if (gradient > peak->gradient) {
        peak->gradient = gradient;
        peak->multiplier = peak->last_multiplier;
    }
}

static void report_sweep(const json_t *rows)
{
    static const struct table_column columns[] = {{"logits", 0, true},    {"keys", 0, false},
                                                  {"times", 0, false},    {"entropy", 0, false},
                                                  {"in use", 0, false},   {"largest", 0, false},
                                                  {"Jacobian", 0, false}, {"gradient", 0, false}};
    struct grid grid = {.table.columns = columns, .table.column_count = 8};
    struct experiment_part part = {.rows = rows, .name = "multiplier"};
    while (experiment_part_next(&part))
        sweep_row(&grid, part.params, part.values);
    grid_print(&grid, "softmax of the logits times a multiplier");
}

static void say_peak(const json_t *rows, const char *input)
{
    struct peak peak = {0};
    struct experiment_part part = {.rows = rows, .name = "multiplier"};
    while (experiment_part_next(&part))
        if (strcmp(experiment_text(part.params, "input"), input) == 0)
            note_peak(&peak, part.params, part.values);
    if (peak.keys > 0 && peak.multiplier == peak.last_multiplier)
        report_sentence("Of %.0f %s logits of spread 1 softmax lets more gradient through the "
                        "larger the multiplier, up to %g (%.3g), where the largest weight is %.2g.",
                        peak.keys, input, peak.multiplier, peak.gradient, peak.last_largest);
    else if (peak.keys > 0)
        report_sentence("Of %.0f %s logits of spread 1 softmax lets the largest gradient through "
                        "at a multiplier of %g (%.3g); at %g the largest weight is %.2g and the "
                        "gradient %.2g of that.",
                        peak.keys, input, peak.multiplier, peak.gradient, peak.last_multiplier,
                        peak.last_largest, peak.last_gradient / peak.gradient);
}

bool softmax_report(const json_t *rows)
{
    const size_t wrong = report_published(rows);
    report_sweep(rows);
    for (const char *const *input = softmax_inputs; *input; input++)
        say_peak(rows, *input);
    if (wrong)
        report_sentence("%zu rows differ from what was printed.", wrong);
    return wrong == 0;
}
