/*
 * options: the command line, one table for parsing and for --help.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "base/scan.h"
#include "results/setting.h"

#define OPTIONS_MAX_PROBLEMS 256
#define OPTIONS_MAX_PLUGINS 32
#define OPTIONS_NOT_GIVEN UINT64_MAX

enum command {
    COMMAND_LIST,
    COMMAND_RUN,
    COMMAND_CHECK,
    COMMAND_TUNE,
    COMMAND_EVAL,
    COMMAND_EXPERIMENT,
    COMMAND_MACHINE,
    COMMAND_HELP,
    COMMAND_COMPLETION,
    COMMAND_COUNT
};

/* The inputs on which `run` checks a kernel before it times it. */
enum checked { CHECKED_FULL, CHECKED_CASE };

/* What to do while another session measures on this machine. */
enum if_busy { IF_BUSY_WAIT, IF_BUSY_GO_ON };

/* The value of an option, and the type of its field in struct options. */
enum option_kind {
    OPTION_FLAG,     /* nothing: bool */
    OPTION_TEXT,     /* const char *, not empty */
    OPTION_SETTING,  /* const char *, may be empty */
    OPTION_PROBLEMS, /* a text; repeatable: problems */
    OPTION_PLUGINS,  /* a text; repeatable: plugins */
    OPTION_SECONDS,  /* double in [lo, hi] */
    OPTION_COUNT,    /* a whole number in [lo, hi]: uint64_t */
    OPTION_WORD,     /* one of `words`: an enum of these */
    OPTION_COUNTS, /* a list of whole numbers and ranges of them (problem/sweep.h), ascending: JSON alone */
    OPTION_NUMBERS, /* a list of numbers in [lo, hi], ascending: JSON alone */
    OPTION_WORDS    /* a list of `words`, each once: JSON alone */
};

struct option {
    const char *name, *form; /* form: of its value, for help; NULL: it takes none */
    const char *standard;    /* its default; NULL: none */
    const char *quick;       /* its default with --quick; NULL: the same */
    const char *help;
    enum option_kind kind;
    double lo, hi;
    const char *const *words; /* the last is NULL */
    size_t offset; /* of the field in struct options; an experiment's parameters are in `values` */
    unsigned commands; /* bits 1u << COMMAND_ ; 0: a parameter of an experiment */
};

/* The effect of the variable ATTN_ISA_MASK, for help. */
#define OPTIONS_ISA_MASK                                                                       \
    "as if the host had the baseline and\nthese instruction sets alone (attnbench list names " \
    "them)."

struct options_command {
    const char *name, *summary;
    const char *usage, *more; /* for its page; experiments have their own pages */
    const char *subject;      /* the word that may precede its options; NULL: none */
};
extern const struct options_command options_commands[COMMAND_COUNT];

/* The options as given, lists still as text; NULL or 0 if not given.  The strings are argv's. */
struct options {
    enum command command;
    bool help;
    const char *subject;          /* the word before the options: an experiment, a topic */
    const char *const *arguments; /* argv from the command's name on, for the journal */
    int argument_count;
    const struct option *own; /* the experiment's parameters; the last has a NULL name */
    json_t *values;           /* values given for these; owned, NULL: none */
    const char *suite, *kernel, *blas, *isa, *cases, *threads;
    const char *model, *prefill, *decode, *batch; /* lists, too */
    uint64_t team; /* threads, for commands whose --threads is a single number */
    const char *problems[OPTIONS_MAX_PROBLEMS];
    size_t problem_count;
    const char *plugins[OPTIONS_MAX_PLUGINS];
    size_t plugin_count;
    struct setting setting; /* but for its variables, which `environment` has */
    const char *environment, *base_options, *new_options; /* NULL: not given; "" is a value */
    enum checked checked;
    double seconds;    /* session length to aim for */
    double timeout_s;  /* of a launch */
    uint64_t launches; /* most per cell */
    uint64_t seed;     /* OPTIONS_NOT_GIVEN: from the clock */
    uint64_t draws;    /* problems to draw; OPTIONS_NOT_GIVEN: by the command */
    enum if_busy if_busy;
    const char *output, *resume, *input, *wisdom;
    bool force; /* replace the output file */
    bool quick;
    bool dry_run;
    bool invariant; /* check batch invariance alone */
    bool json;
    bool man; /* print help as a manual page */
    bool matrix;
    const char *experiment; /* no option: the one that the session belongs to; NULL: none */
};

void options_init(struct options *options);
void options_free(struct options *options);

/* Parses argv, which begins with the command's name, into options, which keep earlier values.  False fills
 * message with one line that names the argument. */
bool options_parse(struct options *options, int argc, const char *const *argv,
                   struct message message);

/* Parses arguments without a command's name, and sets no defaults. */
bool options_apply(struct options *options, int argc, const char *const *argv,
                   struct message message);

/* The arguments that were parsed, as an array of strings. */
json_t *options_arguments(const struct options *options);

/* Option number `index` of a command, an experiment's parameters first; NULL past the last one. */
const struct option *options_of(enum command command, const struct option *own, size_t index);

/* The option of that name, without "--"; NULL if there is none. */
const struct option *options_named(enum command command, const struct option *own,
                                   struct piece name);

/* The value that a text gives an option: an integer, a real number, an array or a string.  NULL fills message
 * with what the option takes. */
json_t *options_value_parse(const struct option *option, const char *text, struct message message);

/* The default values of a table's options, or those with --quick, as an object. */
json_t *options_value_standard(const struct option *table, bool quick);

#define OPTIONS_PAGE_WIDTH 80 /* columns of a help page */

/* Print an overview of the commands; a command's page; a command's options, after an experiment's
 * parameters. */
void options_print_commands(FILE *out);
void options_print_help(FILE *out, enum command command);
void options_print_options(FILE *out, enum command command, const struct option *own);

/* Finds a command by name; false if there is none. */
bool options_command(const char *name, enum command *command);

/* Whether an argument asks for help: --help or -h. */
bool options_is_help(const char *argument);

/* ---- for options*.c -------------------------------------------------------------------------- */

/* Every option; the last has a NULL name. */
extern const struct option options_table[];

/* Stores an option of kind SECONDS, COUNT or WORD in its field; false fills message. */
bool options_value_store(const struct option *option, const char *text, void *field,
                         struct message message);
