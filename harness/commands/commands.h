/*
 * commands: the commands of the program, from options to exit code.
 */
#ifndef HARNESS_COMMANDS_COMMANDS_H
#define HARNESS_COMMANDS_COMMANDS_H

#include "session/options.h"

/* argv as given, for the record; it begins with the command's name. */
int run_command(const struct options *options, int argc, const char *const *argv); /* and `check` */
int eval_command(const struct options *options, int argc, const char *const *argv);
int list_command(const struct options *options, int argc, const char *const *argv);
int machine_command(const struct options *options, int argc, const char *const *argv);

/* The options' subject is an experiment, or it runs all. */
int experiment_command(const struct options *options, int argc, const char *const *argv);

/* The options' subject is a topic or a command; without one, lists the topics. */
int help_command(const struct options *options, int argc, const char *const *argv);

/* The page of the options' command, and of their experiment. */
void help_print_page(const struct options *options);

/* The keys of a problem, a line each. */
void list_keys(void);

#endif
