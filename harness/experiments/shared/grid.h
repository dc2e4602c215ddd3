/*
 * grid: a table that grows by rows and cells, then is printed.
 */
#ifndef HARNESS_EXPERIMENTS_SHARED_GRID_H
#define HARNESS_EXPERIMENTS_SHARED_GRID_H

#include "base/table.h"

/* Begin with .columns and .column_count. */
struct grid {
    struct table table;
    size_t capacity;
    size_t cell; /* the next one of the last row */
};

void grid_row(struct grid *grid);

/* The next cell of the row; one of a number is empty where it is not finite. */
__attribute__((format(printf, 2, 3))) void grid_text(struct grid *grid, const char *format, ...);
void grid_number(struct grid *grid, const char *format, double x);

/* A range "lo .. hi", each as `format` says. */
void grid_range(struct grid *grid, const char *format, double lo, double hi);

/* How the row looks. */
void grid_style(struct grid *grid, enum table_style style);

/* Prints it under its heading where it has rows, and frees it. */
void grid_print(struct grid *grid, const char *heading);

#endif
