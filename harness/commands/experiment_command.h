/*
 * experiment_command: the command `experiment`.
 */
#ifndef HARNESS_COMMANDS_EXPERIMENT_COMMAND_H
#define HARNESS_COMMANDS_EXPERIMENT_COMMAND_H

#include "session/options.h"

/* Runs the experiment that is the options' subject, or all; returns the exit code. */
int experiment_command(const struct options *options, int argc, const char *const *argv);

#endif
