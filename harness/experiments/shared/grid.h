/*
 * grid: a table that grows by rows and cells, then is printed.
 */
#ifndef HARNESS_EXPERIMENTS_SHARED_GRID_H
#define HARNESS_EXPERIMENTS_SHARED_GRID_H

#include "base/table.h"
#include "experiments/experiment.h"

/* A column, and the field of a row of results that it shows: a text, a number or a range of two numbers, from
 * its values or its parameters.  The format takes one double; NULL: texts, aligned left. */
struct grid_column {
    const char *title;
    const char *key;    /* NULL: the caller's text */
    const char *format; /* "%s": the caller's text, aligned right; with %%: a share in percent */
    int priority;       /* as in struct table_column */
};

/* Open it, or begin with .table.columns and .table.column_count. */
struct grid {
    struct table table;
    const struct grid_column *described;
    struct table_column columns[TABLE_COLUMNS];
    size_t capacity;
    size_t cell; /* the next one of the last row */
};

/* Columns end with a NULL title. */
void grid_open(struct grid *grid, const struct grid_column *columns);

/* A row of results as a row of the table; behind it a text, a const char *, for each column without a key. */
void grid_add(struct grid *grid, const struct experiment_part *row, ...);

/* Every row of a part as a table that needs no texts of the caller. */
void grid_part(const struct grid_column *columns, const json_t *rows, const char *part,
               const char *heading);

void grid_row(struct grid *grid);

/* The next cell of the row; empty for a number that is not finite. */
__attribute__((format(printf, 2, 3))) void grid_text(struct grid *grid, const char *format, ...);
void grid_number(struct grid *grid, const char *format, double x);

/* A range "lo .. hi", each as `format` says. */
void grid_range(struct grid *grid, const char *format, double lo, double hi);

/* How the row looks. */
void grid_style(struct grid *grid, enum table_style style);

/* Prints it under its heading if it has rows, and frees it. */
void grid_print(struct grid *grid, const char *heading);

#endif
