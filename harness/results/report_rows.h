/*
 * report_rows: texts and numbers of rows for tables, and comparisons of cells.
 */
#pragma once

#include "cell.h"
#include "base/stats.h"
#include "base/table.h"
#include "report_columns.h"

/* Where tables go. */
struct report_output {
    FILE *out;
    size_t width; /* columns */
    bool color;
    int failed; /* errno of the first write that failed; 0: none */
};
extern struct report_output report_output;

/* Prints a line, wrapped to the width; continuation lines are indented. */
__attribute__((format(printf, 2, 3))) void report_wrapped(size_t indent, const char *format, ...);

/* Whether output is a terminal that may be coloured. */
bool report_colors(void);

/* Flushes the output and keeps the first error. */
void report_flush(void);

/* The median in a cell's row; NaN without a row, and where the cell is not ok. */
double report_row_median(const struct cell *cell);
bool report_row_has_time(const struct cell *cell); /* finished, with a median */

/* Whether a cell has a row with the state unsupported or unavailable: a property of the build or kernel, not a
 * result. */
bool report_row_is_absent(const struct cell *cell);

/* Half the width of the median's 95 % interval in seconds; NaN if there is none. */
double report_row_half_width(const json_t *row);

/* The ratio of a finished cell's time to base's, round by round: launch k of both was part of round k.  It
 * has no interval between this session and an earlier one, which shared no round. */
struct stats_ratio report_row_ratio(const struct cell *base, const struct cell *cell);

/* Whether the interval of a ratio holds 1: the two tie. */
bool report_row_tie(struct stats_ratio ratio);

/* Whether a cell has a rank: its ratio to some rival has an interval; without rivals, its median has one.
 * report_row_unranked() prints how many cells have a time but no rank, if any, and then `advice`; returns how
 * many. */
bool report_row_is_ranked(const struct cell *cells, size_t count, const struct cell *cell);
size_t report_row_unranked(const struct cell *cells, size_t count, const char *advice);

/* Whether two finished cells have the same case and thread count. */
bool report_row_rivals(const struct cell *a, const struct cell *b);

/* The fastest ok cell among a cell and its rivals, among the ranked ones if any is ranked; NULL if none is
 * ok. */
const struct cell *report_row_fastest(const struct cell *cells, size_t count,
                                      const struct cell *like);

/* Whether a rival has a time. */
bool report_row_is_contested(const struct cell *cells, size_t count, const struct cell *cell);

/* Time of the fastest gemm among the rivals of a cell, under its setting, over the cell's; NaN if there is
 * none. */
double report_row_gemm(const struct cell *cells, size_t count, const struct cell *like);

/* Records which columns, marks and flags a table has shown, for the legend.  `shown`: what table_print()
 * returned; which[]: the COLUMN_ of each column, -1 for none; NULL: the columns are report_columns(). */
void report_legend_saw(const struct table *table, unsigned shown, const int *which);

/* Prints a line for each mark, column and flag that was shown and needs one. */
void report_legend(void);

/* Whether the library's dispatch chose it. */
bool report_row_is_chosen(const json_t *row);

/* The ratio of the library's choice's time to the fastest's, at least 1, among a cell and its rivals under its
 * setting; NaN if the choice has no time, or no other has one.  *chosen, *fastest: the two cells; NULL: unknown. */
struct stats_ratio report_row_regret(const struct cell *cells, size_t count,
                                     const struct cell *like, const struct cell **chosen,
                                     const struct cell **fastest);

/* The share that the row reaches of the ceiling that bounds it; NaN if none was measured. */
double report_row_share(const json_t *row);

/* Prints the heading of a case's table: name, problem, input unless it is the default, sizes. */
void report_case_head(FILE *out, size_t width, const struct cell *cell);
