/*
 * table: tables whose columns fit the given width.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define TABLE_COLUMNS 24
#define TABLE_CELL 80

struct table_column {
    const char *title;
    int priority; /* where the table is too wide, the column with the highest is dropped first; 0: never */
    bool left; /* aligned */
};

enum table_style { TABLE_PLAIN, TABLE_STRONG, TABLE_BAD };

struct table_row {
    char text[TABLE_COLUMNS][TABLE_CELL];
    char note[700]; /* behind the row where it fits, else below it */
    enum table_style style;
};

struct table {
    const struct table_column *columns;
    size_t column_count;
    struct table_row *rows;
    size_t row_count;
    size_t indent;
    bool one_line; /* notes stay behind their row, however long */
    bool titles;   /* if too wide, texts of the first column become lines above their rows */
};

/* Prints it, without columns that are empty in every row.  Returns the columns shown, bits 1u << column. */
unsigned table_print(FILE *out, const struct table *table, size_t width, bool color);

/* Prints words wrapped to the width, later lines indented. */
void table_wrap(FILE *out, const char *text, size_t width, size_t indent);
