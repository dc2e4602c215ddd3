/*
 * options_table: every command and every option, for parsing and for --help.  Internal to options.
 */
#ifndef HARNESS_SESSION_OPTIONS_TABLE_H
#define HARNESS_SESSION_OPTIONS_TABLE_H

#include "options.h"

struct options_command {
    const char *name, *summary, *usage, *more;
};
extern const struct options_command options_commands[COMMAND_COUNT];

enum kind { FLAG, TEXT, PROBLEM, PLUGIN, SECONDS, COUNT, SEED, DRAWS, PLACE, MEMORY, BUSY };

struct option {
    const char *name, *value;
    size_t offset; /* of the field of struct options */
    const char *help;
    enum kind kind;
    unsigned commands; /* bits 1u << COMMAND_ */
};
extern const struct option options_table[];
extern const size_t options_table_size;

#endif
