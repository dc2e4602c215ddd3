/*
 * options_table: every command and every option, for parsing and for --help.  Internal to options.
 */
#ifndef HARNESS_SESSION_OPTIONS_TABLE_H
#define HARNESS_SESSION_OPTIONS_TABLE_H

#include "options.h"

struct options_command {
    const char *name, *summary;
    const char *usage, *more; /* of its page; an experiment's has its own */
    const char *subject;      /* what may stand before its options; NULL: nothing */
};
extern const struct options_command options_commands[COMMAND_COUNT];

/* The last has a NULL name. */
extern const struct option options_table[];

/* Stores seconds, a count or a word in its field; false fills message. */
bool option_store(const struct option *option, const char *text, void *field, char *message,
                  size_t message_size);

/* The option number `index` of a command, an experiment's own first; NULL past the last one. */
const struct option *options_of(enum command command, const struct option *own, size_t index);

#endif
