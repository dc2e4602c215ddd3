/*
 * report_settings: a session's two settings against each other.
 */
#pragma once

#include "cell.h"

/* Verdicts on a change, in the order in which they are counted. */
enum verdict { VERDICT_SLOWER, VERDICT_UNCLEAR, VERDICT_FASTER, VERDICT_SAME, VERDICT_COUNT };
const char *report_settings_verdict(enum verdict verdict);

/* The verdict on a ratio of times, new over base, and its 95 % interval (NaN: none), and the reason in words.
 * judge() of scripts/attntools/compare/comparison.py gives the same: tests/data/verdicts.txt. */
enum verdict report_settings_judge(double ratio, double lo, double hi, struct message why);

/* The first cell whose setting differs from that of cells[0]; NULL if there is none. */
const struct cell *report_settings_other(const struct cell *cells, size_t count);

/* Prints how new differs from base, for each cell of a case that has a time under both settings. */
void report_settings(const struct cell *cells, size_t count);

/* Prints how many cells of a session got which verdict. */
void report_settings_verdicts(const struct cell *cells, size_t count);
