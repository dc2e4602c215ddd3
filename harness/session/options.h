/*
 * options: the command line, one table for parsing and for --help.
 */
#ifndef HARNESS_SESSION_OPTIONS_H
#define HARNESS_SESSION_OPTIONS_H

#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "system/machine.h"
#include "queue.h"

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

/* On what `run` checks a kernel before it times it. */
enum checked { CHECKED_FULL, CHECKED_CASE };

/* What an option takes, and the type of its field of struct options. */
enum option_kind {
    OPTION_FLAG,     /* nothing: bool */
    OPTION_TEXT,     /* const char *, not empty */
    OPTION_SETTING,  /* the same, which may be empty */
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
    const char *name, *form; /* of its value; NULL: it takes none */
    const char *standard;    /* its value where it is not given; NULL: none */
    const char *quick;       /* the same with --quick; NULL: the standard one */
    const char *help;
    enum option_kind kind;
    double lo, hi;
    const char *const *words; /* the last is NULL */
    size_t offset;     /* of the field of struct options; of an experiment's own: in `values` */
    unsigned commands; /* bits 1u << COMMAND_ ; 0: an experiment's own */
};

/* What the variable ATTN_ISA_MASK does. */
#define OPTIONS_ISA_MASK                                                                       \
    "as if the host had the baseline and\nthese instruction sets alone (attnbench list names " \
    "them)."

struct options_command {
    const char *name, *summary;
    const char *usage, *more; /* of its page; an experiment's has its own */
    const char *subject;      /* what may stand before its options; NULL: nothing */
};
extern const struct options_command options_commands[COMMAND_COUNT];

/* As given; lists are still text, NULL or 0 where not given.  The strings are argv's. */
struct options {
    enum command command;
    bool help;
    const char *subject;          /* what stands before the options: an experiment, a topic */
    const char *const *arguments; /* as parsed, for the record: argv from the command's name on */
    int argument_count;
    const struct option *own; /* of the experiment; the last has a NULL name */
    json_t *values;           /* of these, those given; owned, NULL: none */
    const char *suite, *kernel, *blas, *isa, *cases, *threads;
    const char *model, *prefill, *decode, *batch; /* lists likewise */
    uint64_t team; /* the one number of threads, where no list is taken */
    const char *problems[OPTIONS_MAX_PROBLEMS];
    size_t problem_count;
    const char *plugins[OPTIONS_MAX_PLUGINS];
    size_t plugin_count;
    enum placement placement;
    enum memory_policy memory;
    bool huge_pages;
    bool cold;
    const char *environment, *base_options,
        *new_options; /* NULL: not given, which may differ from "" */
    enum checked checked;
    double seconds;    /* of the session */
    double timeout_s;  /* of one launch */
    uint64_t launches; /* at most, per cell */
    uint64_t seed;     /* OPTIONS_NOT_GIVEN: from the clock */
    uint64_t draws;    /* problems to draw; OPTIONS_NOT_GIVEN: by the command */
    enum if_busy if_busy;
    const char *output, *resume, *input, *wisdom;
    bool force; /* to replace the file of output */
    bool quick;
    bool dry_run;
    bool invariant; /* what is checked, instead of all else */
    bool json;
    bool man; /* a page of help as a manual page */
    bool matrix;
    const char *experiment; /* that a session is of, which is no option: NULL mostly */
};

void options_init(struct options *options);
void options_free(struct options *options);

/* Applies argv, which begins with the command's name, on top of what options holds.  False fills
 * message with one line that names the argument. */
bool options_parse(struct options *options, int argc, const char *const *argv, char *message,
                   size_t message_size);

/* The same for arguments alone, without a command's name and without the values of options not given. */
bool options_apply(struct options *options, int argc, const char *const *argv, char *message,
                   size_t message_size);

/* The arguments that were parsed, an array of texts. */
json_t *options_arguments(const struct options *options);

/* The option number `index` of a command, an experiment's own first; NULL past the last one. */
const struct option *options_of(enum command command, const struct option *own, size_t index);

/* The value of a text: an integer, a real number, an array or a string.  NULL fills message with what
 * the option takes. */
json_t *option_value(const struct option *option, const char *text, char *message,
                     size_t message_size);

/* All options of a table as an object, at their standard or quick values. */
json_t *options_standard(const struct option *table, bool quick);

/* Overview of the commands, one command's page, and its options alone, those of an experiment before them. */
void options_print_commands(FILE *out);
void options_print_help(FILE *out, enum command command);
void options_print_options(FILE *out, enum command command, const struct option *own);

/* The command of that name; false where there is none. */
bool options_command(const char *name, enum command *command);

/* Whether an argument asks for help: --help or -h. */
bool options_is_help(const char *argument);

#endif
