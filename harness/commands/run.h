/*
 * run: the commands `run` and `check`, from options to exit code.
 */
#ifndef HARNESS_COMMANDS_RUN_H
#define HARNESS_COMMANDS_RUN_H

#include "session/options.h"

/* argv as given, for the record; it begins with the command's name.  Returns the exit code. */
int run_command(const struct options *options, int argc, const char *const *argv);

#endif
