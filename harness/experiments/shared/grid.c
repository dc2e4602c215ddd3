/*
 * grid: rows of text cells.
 */
#include "grid.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "results/report_experiment.h"

void grid_open(struct grid *grid, const struct grid_column *columns)
{
    size_t n = 0;
    *grid = (struct grid){.described = columns};
    for (; columns[n].title; n++)
        grid->columns[n] =
            (struct table_column){columns[n].title, columns[n].priority, !columns[n].format};
    grid->table.columns = grid->columns;
    grid->table.column_count = n;
}

static struct table_row *last_row(struct grid *grid)
{
    return grid->table.row_count ? &grid->table.rows[grid->table.row_count - 1] : NULL;
}

void grid_row(struct grid *grid)
{
    if (grid->table.row_count == grid->capacity) {
        const size_t capacity = grid->capacity ? 2 * grid->capacity : 16;
        struct table_row *rows = realloc(grid->table.rows, capacity * sizeof *rows);
        if (!rows)
            return; /* the last row is overwritten: a table is lost, not the results */
        grid->table.rows = rows;
        grid->capacity = capacity;
    }
    grid->table.rows[grid->table.row_count++] = (struct table_row){0};
    grid->cell = 0;
}

void grid_text(struct grid *grid, const char *format, ...)
{
    struct table_row *row = last_row(grid);
    va_list arguments;
    if (!row || grid->cell == grid->table.column_count)
        return;
    va_start(arguments, format);
    vsnprintf(row->text[grid->cell++], TABLE_CELL, format, arguments);
    va_end(arguments);
}

/* The formats are those of our own callers, each for one double. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"

void grid_number(struct grid *grid, const char *format, double x)
{
    if (isfinite(x))
        grid_text(grid, format, x);
    else
        grid_text(grid, "%s", "");
}

void grid_range(struct grid *grid, const char *format, double lo, double hi)
{
    char a[TABLE_CELL / 2 - 2], b[TABLE_CELL / 2 - 2];
    snprintf(a, sizeof a, format, lo);
    snprintf(b, sizeof b, format, hi);
    if (isfinite(lo) && isfinite(hi))
        grid_text(grid, "%s .. %s", a, b);
    else
        grid_text(grid, "%s", "");
}

#pragma GCC diagnostic pop

void grid_style(struct grid *grid, enum table_style style)
{
    struct table_row *row = last_row(grid);
    if (row)
        row->style = style;
}

static void add_cell(struct grid *grid, const struct grid_column *column,
                     const struct experiment_part *row)
{
    const json_t *x = json_object_get(row->values, column->key);
    const double factor = column->format && strstr(column->format, "%%") ? 100 : 1;
    x = x ? x : json_object_get(row->params, column->key);
    if (json_is_string(x) || !column->format)
        grid_text(grid, "%s", x ? json_string_value(x) : "");
    else if (json_is_array(x))
        grid_range(grid, column->format, factor * json_number_value(json_array_get(x, 0)),
                   factor * json_number_value(json_array_get(x, 1)));
    else
        grid_number(grid, column->format, json_is_number(x) ? factor * json_number_value(x) : NAN);
}

void grid_add(struct grid *grid, const struct experiment_part *row, ...)
{
    va_list texts;
    va_start(texts, row);
    grid_row(grid);
    for (const struct grid_column *column = grid->described; column->title; column++)
        if (column->key)
            add_cell(grid, column, row);
        else
            grid_text(grid, "%s", va_arg(texts, const char *));
    va_end(texts);
}

void grid_part(const struct grid_column *columns, const json_t *rows, const char *part,
               const char *heading)
{
    struct experiment_part row = {.rows = rows, .name = part};
    struct grid grid;
    grid_open(&grid, columns);
    while (experiment_part_next(&row))
        grid_add(&grid, &row);
    grid_print(&grid, heading);
}

void grid_print(struct grid *grid, const char *heading)
{
    if (grid->table.row_count) {
        report_heading("%s", heading);
        report_table(&grid->table);
    }
    free(grid->table.rows);
    *grid = (struct grid){0};
}
