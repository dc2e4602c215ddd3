/*
 * machine_command: the command `machine`.
 */
#ifndef HARNESS_MACHINE_COMMAND_H
#define HARNESS_MACHINE_COMMAND_H

#include "options.h"

int machine_command(const struct options *options, int argc, const char *const *argv);

#endif
