/*
 * options_table: every option, for parsing and for --help.  Internal to options.
 */
#ifndef HARNESS_SESSION_OPTIONS_TABLE_H
#define HARNESS_SESSION_OPTIONS_TABLE_H

#include "options.h"

/* The last has a NULL name. */
extern const struct option options_table[];

/* Stores an option of kind SECONDS, COUNT or WORD in its field; false fills message. */
bool option_store(const struct option *option, const char *text, void *field, char *message,
                  size_t message_size);

#endif
