/*
 * machine_command: the command `machine`.
 */
#ifndef HARNESS_COMMANDS_MACHINE_COMMAND_H
#define HARNESS_COMMANDS_MACHINE_COMMAND_H

#include "session/options.h"

int machine_command(const struct options *options, int argc, const char *const *argv);

#endif
