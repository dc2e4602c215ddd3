/*
 * report_experiment: what experiments print.
 */
#ifndef HARNESS_RESULTS_REPORT_EXPERIMENT_H
#define HARNESS_RESULTS_REPORT_EXPERIMENT_H

#include "base/table.h"

/* The name of what follows, and a table under it. */
__attribute__((format(printf, 1, 2))) void report_heading(const char *format, ...);
void report_table(const struct table *table);

/* Sentences, wrapped to the width. */
__attribute__((format(printf, 1, 2))) void report_sentence(const char *format, ...);

#endif
