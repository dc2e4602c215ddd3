/*
 * list_command: the command `list`.
 */
#ifndef HARNESS_COMMANDS_LIST_COMMAND_H
#define HARNESS_COMMANDS_LIST_COMMAND_H

#include "session/options.h"

/* The keys of a problem, a line each. */
void list_keys(void);

int list_command(const struct options *options, int argc, const char *const *argv);

#endif
