/*
 * list: the command `list`.
 */
#ifndef HARNESS_LIST_H
#define HARNESS_LIST_H

#include "options.h"

int list_command(const struct options *options, int argc, const char *const *argv);

#endif
