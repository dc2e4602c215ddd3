/*
 * experiment_help: which experiment a command line names, and the pages that describe them.
 */
#ifndef HARNESS_COMMANDS_EXPERIMENT_HELP_H
#define HARNESS_COMMANDS_EXPERIMENT_HELP_H

#include "experiments/experiment.h"

/* Gives options the parameters of the experiment that argv names, if any.  False fills message: there
 * is none of that name. */
bool experiment_choose(struct options *options, int argc, const char *const *argv, char *message,
                       size_t message_size);

/* A line for each experiment, wrapped to the width; the page of one, or of all where the options name
 * none. */
void experiment_print_list(FILE *out, size_t width);
/* Question, method and source of an experiment under their headings; the method alone. */
void experiment_print_asked(FILE *out, const struct experiment *experiment);
void experiment_print_method(FILE *out, const struct experiment *experiment);
void experiment_print_help(FILE *out, const struct options *options);

#endif
