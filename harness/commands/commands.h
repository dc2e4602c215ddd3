/*
 * commands: the commands of the program, from options to exit code, and their parts.
 */
#ifndef HARNESS_COMMANDS_COMMANDS_H
#define HARNESS_COMMANDS_COMMANDS_H

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

/* The page of the options' command, and of their experiment. */
void help_print_page(const struct options *options);

/* ---- run ------------------------------------------------------------------------------------- */

/* The share of finished cells. */
double run_share_done(const struct session *session);

/* Shows on the live display, or as progress, what a worker is about to do: for a cell, or where that is
 * NULL for case number `at`. */
void run_tell_launch(const struct session *session, size_t at, const struct cell *cell,
                     const char *what, double elapsed_s, double needed_s);

/* Prints the table of a case.  A drawn case is shown only if a kernel fails on it, and the first of these
 * together with a simple problem on which that kernel fails, too. */
void run_tell_case(const struct session *session, int topology, const struct cell *cells,
                   size_t count, size_t *simplified);

/* Whether each kernel that was named computed something; else says why it did not. */
bool run_each_has_a_row(const struct session *session);

/* ---- subjects -------------------------------------------------------------------------------- */

struct named {
    const char *name, *summary;
};

/* What may follow a command's name, by its place: an experiment or `all`, a topic of help or a command, a
 * shell.  For COMMAND_COUNT the commands themselves.  False past the last one. */
bool subject_at(enum command command, size_t index, struct named *subject);

/* Says, after `before`, that there is no subject of that name, and which is nearest; returns EXIT_USAGE. */
int subject_unknown(enum command command, const char *name, const char *before);

/* The first subjects of `help`, and those of `completion`, in their order. */
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

/* The keys of a problem; the suites; the kinds of layer of the models: a line each. */
void list_keys(void);
void list_suites(void);
void list_models(void);

/* A line for each experiment, wrapped to the width. */
void list_experiments(FILE *out, size_t width);

/* All that this build has, as JSON; the cases of a list; the instruction sets that some kernel is built
 * for, bits 1u << isa; those of them that this host has, the preferred first. */
json_t *list_json(void);
json_t *list_cases_json(const struct case_list *list);
unsigned list_built_isas(void);
json_t *list_preference(void);

/* ---- experiments ----------------------------------------------------------------------------- */

/* Gives options the parameters of the experiment that argv names, if any.  False: there is none of that name,
 * which it says. */
bool experiment_choose(struct options *options, int argc, const char *const *argv);

/* Question, method and source of an experiment under their headings; the method alone. */
void experiment_print_asked(FILE *out, const struct experiment *experiment);
void experiment_print_method(FILE *out, const struct experiment *experiment);

/* Runs one that is a session of `attnbench run`, with these arguments behind its name, or prints its page;
 * returns the exit code. */
int experiment_session(const struct experiment *experiment, int argc, const char *const *argv);

/* ---- capabilities ---------------------------------------------------------------------------- */

/* Which kernel has which feature: features are rows, kernels columns, in as many tables as the width needs;
 * below them the reasons why a kernel refuses a feature that its capabilities include, and what each variant
 * lacks that another one of its kernel has. */
void matrix_print(FILE *out, size_t width);

/* {"features": [NAME, ...], "lacks": {NAME: why, ...}} of one variant. */
json_t *matrix_json(const struct attn_kernel *kernel);

/* ---- beforehand ------------------------------------------------------------------------------ */

/* "8 cells of 4 cases: about 3 min, 1.200 GB of memory; 2 more cannot run; 6 launches each" */
#define BEFOREHAND_TEXT 256
void beforehand_text(const struct session *session, const struct session_needs *needs,
                     char text[BEFOREHAND_TEXT]);

/* Says so if a session is long, or if it will take longer than was asked, as nothing is timed unchecked. */
void beforehand_tell(const struct session *session, const struct session_needs *needs);

/* ---- drawn problems -------------------------------------------------------------------------- */

/* Whether the cell's problem was drawn. */
bool drawn_is(const struct session *session, const struct cell *cell);

/* A problem on which the cell's kernel still fails, and which no known simplification makes simpler;
 * every attempt is a check in a worker of its own. */
struct problem_case drawn_simplest(const struct session *session, int topology,
                                   const struct cell *failed);

/* ---- completion, manual pages, tune ---------------------------------------------------------- */

/* Prints a line for each word that may complete the last of `words`, which follow the program's name: the
 * word, a tab, what it is.  Returns the exit status; 1: a file belongs there. */
int completion_print(int count, const char *const *words);

/* Prints attnbench(1), or the manual page of the command that is the options' subject. */
int man_print(const struct options *options);

/* Turns the options into those of a run: which kernels compete, and that each is checked on its own case.
 * The path of --output goes to *path instead of to the run.  False fills message. */
bool tune_begin(struct options *options, const char **path, char *message, size_t message_size);

/* Writes what won, for kernels/wisdom.h, and says how often the rules are overruled.  False fills message. */
bool tune_write(const struct cell *cells, size_t count, const char *path, char *message,
                size_t message_size);

/* Makes attn_kernel_best() use such a file.  False fills message. */
bool tune_load(const char *path, char *message, size_t message_size);

#endif
