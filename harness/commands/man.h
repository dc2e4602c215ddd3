/*
 * man: the pages of help as manual pages, in the macros of man(7).
 */
#ifndef HARNESS_COMMANDS_MAN_H
#define HARNESS_COMMANDS_MAN_H

#include "session/options.h"

/* Prints attnbench(1), or the page of the command that is the options' subject; returns the exit code. */
int man_print(const struct options *options);

#endif
