/*
 * report_columns: the columns of the table of a case.
 */
#pragma once

#include "base/table.h"
#include "fields.h"

enum {
    COLUMN_MARK,
    COLUMN_KERNEL,
    COLUMN_THREADS,
    COLUMN_TIME,
    COLUMN_INTERVAL,
    COLUMN_GFLOPS,
    COLUMN_FMA,
    COLUMN_BANDWIDTH,
    COLUMN_GEMM,
    COLUMN_ERROR,
    COLUMN_FLAGS,
    COLUMN_REGRET,
    COLUMN_BOUND,
    COLUMN_LAUNCHES,
    COLUMN_SPREAD,
    COLUMN_MIN,
    COLUMN_P95,
    COLUMN_BYTES,
    COLUMN_READ,
    COLUMN_HUGE,
    COLUMN_MACHINE,
    COLUMN_WORKSPACE,
    COLUMN_CHECK,
    COLUMN_COUNT
};

/* All columns; `live`: for the live display, which shows those before COLUMN_FLAGS. */
const struct table_column *report_columns(bool live);

/* A column's entry in the legend; NULL if it needs none, unless `all` are requested. */
const char *report_column_meaning(int column, bool all);

/* The column that shows a field; COLUMN_COUNT if none does. */
int report_column_of(enum field field);

/* Fills a table row with what is known of a cell, most of it from its row; `gemm` is what report_row_gemm()
 * returns. */
void report_column_fill(const struct cell *cell, double gemm, struct table_row *out);
