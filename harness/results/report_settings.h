/*
 * report_settings: a session's two settings against each other.
 */
#ifndef HARNESS_RESULTS_REPORT_SETTINGS_H
#define HARNESS_RESULTS_REPORT_SETTINGS_H

#include "cell.h"

/* Verdicts on a change, in the order in which they are counted. */
enum verdict { VERDICT_SLOWER, VERDICT_UNCLEAR, VERDICT_FASTER, VERDICT_SAME, VERDICT_COUNT };
const char *verdict_name(enum verdict verdict);

/* The verdict on a ratio of times and its 95 % interval, NaN where there is none, and why.  judge() of
 * scripts/attntools/compare/comparison.py says the same: tests/data/verdicts.txt. */
enum verdict report_judge(double ratio, double lo, double hi, char *why, size_t size);

/* The first cell with another setting than the first; NULL where all have the same. */
const struct cell *report_other_setting(const struct cell *cells, size_t count);

/* Prints for each cell of a case that has a time under both settings how new differs from base. */
void report_settings(const struct cell *cells, size_t count);

/* How many cells of a session got which verdict. */
void report_verdicts(const struct cell *cells, size_t count);

#endif
