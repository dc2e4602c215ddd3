/*
 * options: the command line, one table for parsing and for --help.
 */
#ifndef HARNESS_SESSION_OPTIONS_H
#define HARNESS_SESSION_OPTIONS_H

#include <stdint.h>
#include <stdio.h>

#include "system/machine.h"
#include "queue.h"

#define OPTIONS_MAX_PROBLEMS 256
#define OPTIONS_MAX_PLUGINS 32

enum command {
    COMMAND_LIST,
    COMMAND_RUN,
    COMMAND_CHECK,
    COMMAND_EVAL,
    COMMAND_EXPERIMENT,
    COMMAND_MACHINE,
    COMMAND_HELP,
    COMMAND_COUNT
};

/* As given; lists are still text, NULL or 0 where not given.  The strings are argv's. */
struct options {
    enum command command;
    bool help;
    const char *suite, *kernel, *blas, *isa, *cases, *threads;
    const char *problems[OPTIONS_MAX_PROBLEMS];
    size_t problem_count;
    const char *plugins[OPTIONS_MAX_PLUGINS];
    size_t plugin_count;
    enum placement placement;
    enum memory_policy memory;
    bool huge_pages;
    bool cold;
    double seconds;    /* of the session */
    double timeout_s;  /* of one launch */
    size_t launches;   /* at most, per cell */
    bool all_launches; /* as many, however narrow its interval is before */
    uint64_t seed;
    bool seeded;
    size_t draws; /* problems to draw, where drawn */
    bool drawn;
    enum if_busy if_busy;
    const char *output, *resume, *input;
    bool force; /* to replace the file of output */
    bool json;
    bool matrix;
};

void options_init(struct options *options);

/* Applies argv, which begins with the command's name, on top of what options holds.  False fills
 * message with one line that names the argument. */
bool options_parse(struct options *options, int argc, const char *const *argv, char *message,
                   size_t message_size);

/* Whether an argument asks for help: --help or -h. */
bool options_is_help(const char *argument);

/* Overview of the commands, and one command's page. */
void options_print_commands(FILE *out);
void options_print_help(FILE *out, enum command command);

/* The command of that name; false where there is none. */
bool options_command(const char *name, enum command *command);
const char *options_command_name(enum command command);

#endif
