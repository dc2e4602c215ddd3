/*
 * list: the command `list`.
 */
#ifndef HARNESS_COMMANDS_LIST_H
#define HARNESS_COMMANDS_LIST_H

#include "session/options.h"

int list_command(const struct options *options, int argc, const char *const *argv);

#endif
