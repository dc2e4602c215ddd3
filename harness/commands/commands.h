/*
 * commands: the commands of the program, from options to exit code, and their parts.
 */
#pragma once

#include "experiments/experiment.h"
#include "session/session_needs.h"

/* Each runs a command and returns the program's exit code; main flushes standard output. */
int run_command(const struct options *options); /* and `check`, `tune` */
int eval_command(const struct options *options);
int list_command(const struct options *options);
int machine_command(const struct options *options);
int experiment_command(const struct options *options);
int help_command(const struct options *options);
int completion_command(const struct options *options);

/* Prints the help page of the command, or of the experiment, in the options. */
void help_print_page(const struct options *options);

/* ---- run ------------------------------------------------------------------------------------- */

/* Prints the table of a case.  A drawn case is shown only if a kernel fails on it; for the first few of them
 * a simplified problem that fails, too, is printed below, and *simplified counts these. */
void run_tell_case(const struct session *session, int topology, const struct cell *cells,
                   size_t count, size_t *simplified);

/* Whether a kernel named on the command line computed no case; prints why for each such kernel. */
bool run_tell_missing(const struct session *session);

/* ---- subjects -------------------------------------------------------------------------------- */

struct named {
    const char *name, *summary;
};

/* Subject number `index` of a command: experiments and `all`, help topics and commands, or shells; for
 * COMMAND_COUNT the commands themselves.  False past the last one. */
bool subject_at(enum command command, size_t index, struct named *subject);

/* Prints `before`, that no subject has this name, and the nearest name; returns EXIT_USAGE. */
int subject_unknown(enum command command, const char *name, const char *before);

/* The topics of `help`, its first subjects, and the subjects of `completion`, in order. */
enum topic {
    TOPIC_COLUMNS,
    TOPIC_FLAGS,
    TOPIC_METRICS,
    TOPIC_MODELS,
    TOPIC_PROBLEM,
    TOPIC_STATES,
    TOPIC_SUITES,
    TOPICS
};
enum shell { SHELL_BASH, SHELL_ZSH, SHELL_FISH, SHELLS };

/* Print one line for each key of a problem, each suite, each kind of layer of the models. */
void list_keys(void);
void list_suites(void);
void list_models(void);

/* Prints the experiments' names and questions, wrapped to the width. */
void list_experiments(FILE *out, size_t width);

/* As JSON: everything that this build has, and the cases of a list.  Then the instruction sets of its
 * kernels, as bits 1u << isa; and the names of those that this host has, preferred first. */
json_t *list_json(void);
json_t *list_cases_json(const struct case_list *list);
unsigned list_built_isas(void);
json_t *list_preference(void);

/* ---- experiments ----------------------------------------------------------------------------- */

/* Prints an experiment's question, method and source under headings. */
void experiment_print_asked(FILE *out, const struct experiment *experiment);

/* Runs an experiment that is a session of `attnbench run`, with the arguments after its name, or prints its
 * page; returns the exit code. */
int experiment_session(const struct experiment *experiment, int argc, const char *const *argv);

/* ---- capabilities ---------------------------------------------------------------------------- */

/* Prints which kernel (column) has which feature (row), in as many tables as the width needs; then what a
 * variant lacks that another variant of its kernel has, and why variants refuse features that their
 * capabilities include. */
void matrix_print(FILE *out, size_t width);

/* {"features": [NAME, ...], "lacks": {NAME: why, ...}} of one variant. */
json_t *matrix_json(const struct attn_kernel *kernel);

/* ---- beforehand ------------------------------------------------------------------------------ */

/* "8 cells of 4 cases: about 3 min, 1.200 GB of memory; 2 more cannot run; 6 launches each" */
#define BEFOREHAND_TEXT 256
void beforehand_text(const struct session *session, const struct session_needs *needs,
                     char text[BEFOREHAND_TEXT]);

/* Whether the files that cases name can be opened; false fills message. */
bool beforehand_files(const struct session *session, struct message message);

/* Prints a note if a session is long, or if checks and one launch of each cell exceed the time asked for. */
void beforehand_tell(const struct session *session, const struct session_needs *needs);

/* ---- completion, manual pages, tune ---------------------------------------------------------- */

/* Prints "WORD<tab>description" for each word that may complete the last of `words`, the command line without
 * the program's name.  Returns the exit status; 1: a file name is expected. */
int completion_print(int count, const char *const *words);

/* Prints attnbench(1), or the manual page of the command that is the options' subject. */
int man_print(const struct options *options);

/* Turns the options of a tune into those of a run of the competing kernels, each checked on its own case.
 * Moves the path of --output to *path.  False fills message. */
bool tune_begin(struct options *options, const char **path, struct message message);

/* Writes the fastest variants as text for kernels/wisdom.h, and prints how often they differ from the rules'
 * choice.  False fills message. */
bool tune_write(const struct cell *cells, size_t count, const char *path, struct message message);

/* Makes attn_kernel_best() use a file that tune_write() wrote.  False fills message. */
bool tune_load(const char *path, struct message message);
