/*
 * report: tables of results, the only printer of them.
 */
#ifndef HARNESS_RESULTS_REPORT_H
#define HARNESS_RESULTS_REPORT_H

#include "base/table.h"
#include "cell.h"

/* Where tables go: standard output, or standard error where the journal has the output. */
void report_open(bool to_stderr);

/* The finished cells of one case, fastest first at each thread count. */
void report_case(const struct cell *cells, size_t count);

/* Which variant the library chooses for a case, on each number of threads; nothing without it. */
void report_best(const struct cell *cells, size_t count);

/* The table of the current case, on a terminal with the live display: launches and median so far of cells
 * that are not finished, the row of report_case() for the others.  If it has more rows than the terminal,
 * those that changed least recently are left out.  Other parameters are those of progress_show(). */
void report_live(const struct cell *cells, size_t count, const struct cell *running, double share,
                 double left_s, const char *what);

/* Reports that no kernel could compute the case; and, once per variant, all that it does not compute. */
bool report_is_absent(const struct cell *cells, size_t count);
void report_absent_cases(const struct cell *cells, size_t count);

/* How many problems a check drew from which seed; and a simple one on which a cell's kernel fails as well. */
void report_drawn(size_t count, uint64_t seed);
void report_simplest(const struct cell *cell, const struct problem_case *simplest);

/* The largest difference between any two kernels on a case, and which two. */
void report_difference(double largest, const struct cell *a, const struct cell *b);

/* After the last case: the fastest of each case, what the marks mean, how many in which state.  The session
 * took wall_s, NaN where it was cut short. */
void report_summary(const struct cell *cells, size_t count, double wall_s);

/* What all attention of each pass of a model takes, at each thread count. */
void report_passes(const struct case_list *cases, const struct cell *cells, size_t count);

/* How noisy the session was: lines of type noise. */
void report_noise(const json_t *lines);

/* How long it took and for what, from the session's last line. */
void report_time(const json_t *end);

/* One plain line for one row, as progress in a pipe shows it. */
void report_line(const json_t *row, char *text, size_t size);

/* All that a table's words can mean: marks and columns, flags, states. */
void report_help_columns(void);
void report_help_flags(void);
void report_help_metrics(void);
void report_help_states(void);

/* Whether everything could be written; false fills message. */
bool report_close(char *message, size_t message_size);

/* ---- experiments ----------------------------------------------------------------------------- */

/* A table; returns the columns shown (base/table.h). */
unsigned report_table(const struct table *table);

/* Sentences, headings among them, wrapped to the width. */
__attribute__((format(printf, 1, 2))) void report_sentence(const char *format, ...);

#endif
