/*
 * report_rows: what tables show of a result row.
 */
#ifndef HARNESS_RESULTS_REPORT_ROWS_H
#define HARNESS_RESULTS_REPORT_ROWS_H

#include "cell.h"
#include "base/stats.h"
#include "base/table.h"
#include "report_columns.h"

/* Where tables go. */
struct report_output {
    FILE *out;
    size_t width; /* columns */
    bool color;
};
extern struct report_output report_output;

/* Prints a line, wrapped to the width; what does not fit is indented. */
__attribute__((format(printf, 2, 3))) void report_wrapped(size_t indent, const char *format, ...);

/* Whether a terminal may be coloured. */
bool report_colors(void);

/* Flushes, and remembers what went wrong. */
void report_flush(void);

/* What a row has; NaN or "" where it has not.  Only an ok row has a median.
 * Threads as a column shows them: "2"; "4x2" for an older file's row of 4 ranks with 2 each. */
#define REPORT_THREADS 24
double report_threads(const json_t *row);
void report_threads_text(const json_t *row, char text[REPORT_THREADS]);

double report_median(const json_t *row);
bool report_has_time(const struct cell *cell); /* it is finished, and its row has a median */
enum cell_state report_state(const json_t *row);

/* Whether the state is a property of the build or kernel (unsupported, unavailable), not a result. */
bool report_absent(const json_t *row);

/* An end of the 95 % interval, 0 the lower; NaN where there is none. */
double report_bound(const json_t *row, size_t side);

/* Time of a finished cell over that of another, round by round: launch k of both was part of round k.
 * Without an interval between a row of this session and one of an earlier session, which shared no round. */
struct stats_ratio report_ratio(const struct cell *base, const struct cell *cell);

/* Whether the interval of a ratio holds 1: the two tie. */
bool report_tie(struct stats_ratio ratio);

/* Whether a cell has a rank: its ratio to some rival has an interval, or if it has no rivals its median
 * has one. report_unranked() prints how many cells have a time but no rank, if any, and then `advice`;
 * returns how many. */
bool report_is_ranked(const struct cell *cells, size_t count, const struct cell *cell);
size_t report_unranked(const struct cell *cells, size_t count, const char *advice);

/* Whether two finished cells are of one case and thread count. */
bool report_rivals(const struct cell *a, const struct cell *b);

/* The fastest ok cell among the rivals of a cell, itself included, of those with a rank if any has one; NULL
 * where there is none. */
const struct cell *report_fastest(const struct cell *cells, size_t count, const struct cell *like);

/* Whether another cell of the case and thread count has a time; without one, nothing is beaten. */
bool report_is_contested(const struct cell *cells, size_t count, const struct cell *cell);

/* Time of the fastest gemm among the rivals of a cell, under its setting, over the cell's; NaN where there is
 * none. */
double report_gemm(const struct cell *cells, size_t count, const struct cell *like);

/* Notes what a table has shown, for the legend: `shown` is what table_print() returned, which[]
 * gives the COLUMN_ of each column, -1 for none; NULL where the columns are report_columns. */
void report_saw(const struct table *table, unsigned shown, const int *which);

/* A line for each mark, column and flag that was seen and does not explain itself. */
void report_legend(void);

/* Kernel, instruction set and setting of a row, as cell_variant() has them. */
void report_variant_text(const json_t *row, char *text, size_t size);

/* Whether the library's dispatch chose it. */
bool report_is_chosen(const json_t *row);

/* Time of the library's choice over that of the fastest, among the rivals of a cell and itself under its
 * setting; a ratio of NaN where the choice has no time, or is the only one that has.  *chosen, *fastest:
 * which two; NULL: unknown. */
struct stats_ratio report_regret(const struct cell *cells, size_t count, const struct cell *like,
                                 const struct cell **chosen, const struct cell **fastest);

/* The share that was reached of the ceiling that bounds the row; NaN where none was measured. */
double report_share(const json_t *row);

/* What stands above the table of a case: name, problem, input where it is not the usual one, sizes; on
 * more than one line where they need them. */
void report_head(FILE *out, size_t width, const struct cell *cell);

#endif
