/*
 * help: what experiments there are and what they take.
 */
#ifndef HARNESS_EXPERIMENTS_HELP_H
#define HARNESS_EXPERIMENTS_HELP_H

#include <stdio.h>

#include "experiment.h"

/* A line for each experiment, wrapped to the width; the page of one, or of all where it is NULL. */
void experiment_print_list(FILE *out, size_t width);
void experiment_print_help(FILE *out, const struct experiment *experiment);

#endif
