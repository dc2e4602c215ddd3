/*
 * help: the command `help`.
 */
#ifndef HARNESS_COMMANDS_HELP_H
#define HARNESS_COMMANDS_HELP_H

#include "session/options.h"

/* The options' subject is a topic or a command; without one, lists the topics.  Returns the exit code. */
int help_command(const struct options *options, int argc, const char *const *argv);

/* The page of the options' command, and of their experiment. */
void help_print_page(const struct options *options);

#endif
