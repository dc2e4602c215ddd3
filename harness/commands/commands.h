/*
 * commands: the commands of the program, from options to exit code, and their parts.
 */
#ifndef HARNESS_COMMANDS_COMMANDS_H
#define HARNESS_COMMANDS_COMMANDS_H

#include "experiments/experiment.h"
#include "session/session_needs.h"

/* argv as given, for the record; it begins with the command's name. */
int run_command(const struct options *options, int argc, const char *const *argv); /* and `check` */
int eval_command(const struct options *options, int argc, const char *const *argv);
int list_command(const struct options *options, int argc, const char *const *argv);
int machine_command(const struct options *options, int argc, const char *const *argv);

/* The options' subject is an experiment, or it runs all. */
int experiment_command(const struct options *options, int argc, const char *const *argv);

/* The options' subject is a topic or a command; without one, lists the topics. */
int help_command(const struct options *options, int argc, const char *const *argv);

/* Name and summary of a topic by its place; NULL past the last one. */
const char *help_topic(size_t index, const char **summary);

/* The options' subject is a shell, whose script it prints. */
int completion_command(const struct options *options, int argc, const char *const *argv);

/* The page of the options' command, and of their experiment. */
void help_print_page(const struct options *options);

/* The keys of a problem; the suites; the kinds of layer of the models: a line each. */
void list_keys(void);
void list_suites(void);
void list_models(void);

/* ---- experiments ----------------------------------------------------------------------------- */

/* Gives options the parameters of the experiment that argv names, if any.  False fills message: there
 * is none of that name. */
bool experiment_choose(struct options *options, int argc, const char *const *argv, char *message,
                       size_t message_size);

/* A line for each experiment, wrapped to the width; the page of one, or of all where the options name
 * none. */
void experiment_print_list(FILE *out, size_t width);
void experiment_print_help(FILE *out, const struct options *options);

/* Question, method and source of an experiment under their headings; the method alone. */
void experiment_print_asked(FILE *out, const struct experiment *experiment);
void experiment_print_method(FILE *out, const struct experiment *experiment);

/* Runs one that is a session of `attnbench run`, with these arguments behind its name, or prints its page;
 * returns the exit code. */
int experiment_session(const struct experiment *experiment, int argc, const char *const *argv);

/* ---- capabilities ---------------------------------------------------------------------------- */

/* Which kernel has which feature: features are rows, kernels columns, in as many tables as the width needs;
 * below them the reasons why a kernel refuses a feature that its capabilities include. */
void matrix_print(FILE *out, size_t width);

/* {"features": [NAME, ...], "lacks": {NAME: why, ...}} of one variant. */
json_t *matrix_json(const struct attn_kernel *kernel);

/* ---- beforehand ------------------------------------------------------------------------------ */

/* "8 cells of 4 cases: about 3 min, 1.200 GB of memory; 2 more cannot run; 6 launches each" */
#define BEFOREHAND_TEXT 256
void beforehand_text(const struct session *session, const struct session_needs *needs,
                     char text[BEFOREHAND_TEXT]);

/* Says so where a session is long, and where it will take longer than was asked: what is not checked gets
 * no time. */
void beforehand_tell(const struct session *session, const struct session_needs *needs);

/* ---- drawn problems -------------------------------------------------------------------------- */

/* Whether the cell's problem was drawn. */
bool drawn_is(const struct session *session, const struct cell *cell);

/* A problem on which the cell's kernel still fails, and which no known simplification makes simpler;
 * every attempt is a check in a worker of its own. */
struct problem_case drawn_simplest(const struct session *session, int topology,
                                   const struct cell *failed);

/* ---- completion, manual pages, tune ---------------------------------------------------------- */

/* Prints a line for each word that may stand there, with a tab and what it is; words are those behind the
 * program's name.  Returns the exit status: 1, a file belongs there. */
int completion_print(int count, const char *const *words);

/* Prints attnbench(1), or the page of the command that is the options' subject; returns the exit code. */
int man_print(const struct options *options);

/* Makes a run of the options: which kernels compete, and that each is checked on its own case.  The file of
 * --output is not the run's, and goes to *path.  False fills message. */
bool tune_begin(struct options *options, const char **path, char *message, size_t message_size);

/* Writes what won, for kernels/wisdom.h, and says how often the rules are overruled.  False fills message. */
bool tune_write(const struct cell *cells, size_t count, const char *path, char *message,
                size_t message_size);

/* Makes attn_kernel_best() use such a file.  False fills message. */
bool tune_load(const char *path, char *message, size_t message_size);

#endif
