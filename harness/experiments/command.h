/*
 * command: the command `experiment`.
 */
#ifndef HARNESS_EXPERIMENTS_COMMAND_H
#define HARNESS_EXPERIMENTS_COMMAND_H

#include <stdio.h>

#include "experiments/experiment.h"

/* Runs what argv asks for, which begins with the command's name; returns the exit code. */
int experiment_command(int argc, const char *const *argv);

/* What can be asked: of all experiments, and of one. */
void experiment_print_list(FILE *out);
void experiment_print_help(FILE *out, const struct experiment *experiment);

#endif
