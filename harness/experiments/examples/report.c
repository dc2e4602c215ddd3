/*
 * report: what was computed beside what was printed.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "examples.h"
#include "experiments/shared/grid.h"
#include "results/report_experiment.h"

/* Numbers of one row of a matrix, as many as fit. */
static void numbers(const json_t *matrix, size_t i, int decimals, char text[TABLE_CELL])
{
    const json_t *row = json_array_get(matrix, i), *x;
    size_t j, n = 0;
    *text = 0;
    json_array_foreach (row, j, x) {
        const double value = json_number_value(x);
        if (n < TABLE_CELL)
            n += (size_t)snprintf(text + n, TABLE_CELL - n, "%s%.*f", j ? " " : "", decimals,
                                  value == 0 ? 0 : value);
    }
}

/* ok, or how far off; empty where there is nothing to compare with. */
static void verdict(struct grid *grid, const json_t *values)
{
    const json_t *ok = json_object_get(values, "ok");
    if (!ok)
        grid_text(grid, "%s", "");
    else if (json_is_true(ok))
        grid_text(grid, "%s", "ok");
    else
        grid_text(grid, "off by %.2g", experiment_number(values, "difference"));
    grid_style(grid, json_is_false(ok) ? TABLE_BAD : TABLE_PLAIN);
}

/* A matrix of the definition: each row computed, and under it as printed. */
static void print_matrix(struct grid *grid, const char *quantity, const json_t *values)
{
    const json_t *computed = json_object_get(values, "computed");
    const json_t *published = json_object_get(values, "published");
    const int decimals = (int)experiment_number(values, "decimals");
    for (size_t i = 0; i < json_array_size(computed); i++) {
        char text[TABLE_CELL];
        grid_row(grid);
        grid_text(grid, "%s", i ? "" : quantity);
        grid_text(grid, "%s", "computed");
        numbers(computed, i, decimals, text);
        grid_text(grid, "%s", text);
        if (i == 0)
            verdict(grid, values);
        if (!json_is_array(published))
            continue;
        grid_row(grid);
        grid_text(grid, "%s", "");
        grid_text(grid, "%s", "printed");
        numbers(published, i, decimals, text);
        grid_text(grid, "%s", text);
    }
}

/* One line for a kernel's quantity. */
static void print_line(struct grid *grid, const json_t *params, const json_t *values)
{
    grid_row(grid);
    grid_text(grid, "%s", experiment_text(params, "quantity"));
    grid_text(grid, "%s", experiment_text(params, "by"));
    grid_text(grid, "within %.2g of what was printed", experiment_number(values, "difference"));
    verdict(grid, values);
}

/* Whether two rows are of the same property of the same example. */
static bool same_property(const json_t *a, const json_t *b)
{
    const json_t *x = json_object_get(a, "params"), *y = json_object_get(b, "params");
    return json_equal(json_object_get(x, "property"), json_object_get(y, "property")) &&
           json_equal(json_object_get(x, "example"), json_object_get(y, "example"));
}

/* One line for a property of all kernels, the worst of them; only at the first of its rows. */
static void print_property(struct grid *grid, const json_t *rows, size_t at)
{
    const json_t *mine = json_array_get(rows, at), *row;
    const json_t *worst = mine;
    size_t i, kernels = 0;
    for (i = 0; i < at; i++)
        if (same_property(json_array_get(rows, i), mine))
            return;
    json_array_foreach (rows, i, row) {
        if (!same_property(row, mine))
            continue;
        const json_t *a = json_object_get(row, "values"), *b = json_object_get(worst, "values");
        kernels++;
        if (json_is_false(json_object_get(a, "ok")) ||
            experiment_number(a, "difference") > experiment_number(b, "difference"))
            worst = row;
    }
    const json_t *values = json_object_get(worst, "values");
    grid_row(grid);
    grid_text(grid, "%s", experiment_text(json_object_get(mine, "params"), "property"));
    grid_text(grid, "%zu kernels", kernels);
    grid_text(grid, "within %.2g (%s)", experiment_number(values, "difference"),
              experiment_text(json_object_get(worst, "params"), "by"));
    verdict(grid, values);
}

/* Rows of an example from number `first` on; returns the number of the next example's first. */
static size_t print_example(const json_t *rows, size_t first)
{
    static const struct table_column columns[] = {
        {"", 0, true}, {"by", 0, true}, {"", 0, true}, {"", 0, true}};
    struct grid grid = {.table.columns = columns, .table.column_count = 4};
    const char *name =
        experiment_text(json_object_get(json_array_get(rows, first), "params"), "example");
    size_t i = first;
    for (; i < json_array_size(rows); i++) {
        const json_t *params = json_object_get(json_array_get(rows, i), "params");
        const json_t *values = json_object_get(json_array_get(rows, i), "values");
        if (strcmp(experiment_text(params, "example"), name) != 0)
            break;
        if (strcmp(experiment_text(params, "by"), "definition") == 0)
            print_matrix(&grid, experiment_text(params, "quantity"), values);
        else if (json_object_get(params, "property"))
            print_property(&grid, rows, i);
        else
            print_line(&grid, params, values);
    }
    grid_print(&grid, name);
    return i;
}

bool examples_report(const json_t *rows)
{
    size_t compared = 0, properties = 0, wrong = 0, i;
    const json_t *row;
    for (size_t at = 0; at < json_array_size(rows);)
        at = print_example(rows, at);
    json_array_foreach (rows, i, row) {
        const json_t *ok = json_object_get(json_object_get(row, "values"), "ok");
        const bool property = json_object_get(json_object_get(row, "params"), "property");
        compared += ok && !property;
        properties += ok && property;
        wrong += json_is_false(ok);
    }
    report_sentence(
        "Of %zu tables that the notebooks print and %zu properties of examples without a seed, "
        "%s.",
        compared, properties, wrong ? "some differ" : "every one matches");
    if (wrong)
        report_sentence("%zu differ.", wrong);
    return wrong == 0;
}
