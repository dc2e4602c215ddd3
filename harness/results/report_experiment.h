/*
 * report_experiment: what experiments print.
 */
#ifndef HARNESS_RESULTS_REPORT_EXPERIMENT_H
#define HARNESS_RESULTS_REPORT_EXPERIMENT_H

#include "base/table.h"

/* Returns the columns shown (base/table.h). */
unsigned report_table(const struct table *table);

/* Sentences, headings among them, wrapped to the width. */
__attribute__((format(printf, 1, 2))) void report_sentence(const char *format, ...);

#endif
