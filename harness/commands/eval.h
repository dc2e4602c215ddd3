/*
 * eval: the command `eval`, one attention from a file to a file.
 */
#ifndef HARNESS_COMMANDS_EVAL_H
#define HARNESS_COMMANDS_EVAL_H

#include "session/options.h"

int eval_command(const struct options *options, int argc, const char *const *argv);

#endif
