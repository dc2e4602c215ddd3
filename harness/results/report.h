/*
 * report: prints results as tables and sentences.
 */
#pragma once

#include "base/table.h"
#include "cell.h"

/* Chooses where tables go: standard output, or standard error if the journal is written to standard
 * output. */
void report_open(bool to_stderr);

/* Prints the finished cells of one case, fastest first at each thread count. */
void report_case(const struct cell *cells, size_t count);

/* Prints which variant the library chooses for a case on each number of threads, if it was asked to
 * choose. */
void report_case_best(const struct cell *cells, size_t count);

/* Redraws the live table of the current case: launches and median so far of unfinished cells, the row of
 * report_case() for finished ones.  If the terminal has too few lines, the cells that ran least recently
 * are left out.  Other parameters are those of progress_show(). */
void report_live(struct cell *cells, size_t count, const struct cell *running, double share,
                 double left_s, const char *what);

/* Whether no kernel could compute the case.  Prints, once per variant, the cases that it does not compute. */
bool report_absent_all(const struct cell *cells, size_t count);
void report_absent_cases(const struct cell *cells, size_t count);

/* Print how many problems a check drew from which seed; and a simpler problem on which a cell's kernel fails,
 * too. */
void report_absent_drawn(size_t count, uint64_t seed);
void report_absent_simplest(const struct cell *cell, const struct problem_case *simplest);

/* Prints the largest difference between any two kernels on a case, and which two. */
void report_difference(double largest, const struct cell *a, const struct cell *b);

/* Prints the summary: the fastest of each case, the legend, how many cells are in which state.  The session
 * took wall_s; NaN: it was cut short. */
void report_summary(const struct cell *cells, size_t count, double wall_s);

/* Prints the time of all attention in each pass of a model, at each thread count. */
void report_passes(const struct case_list *cases, const struct cell *cells, size_t count);

/* Prints how noisy the session was, from lines of type noise. */
void report_session_noise(const json_t *lines);

/* Prints how long the session took and for what, from its line of type end. */
void report_session_time(const json_t *end);

/* Formats a finished cell as one line, for progress that is not a terminal. */
void report_line(const struct cell *cell, char *text, size_t size);

/* Print the pages of `attnbench help`: marks and columns, flags, numbers of a row, states. */
void report_legend_columns(void);
void report_legend_flags(void);
void report_legend_metrics(void);
void report_legend_states(void);

/* ---- experiments ----------------------------------------------------------------------------- */

/* Prints a table; returns which columns were shown (base/table.h). */
unsigned report_table(const struct table *table);

/* Prints a sentence or heading, wrapped to the width. */
__attribute__((format(printf, 1, 2))) void report_sentence(const char *format, ...);
