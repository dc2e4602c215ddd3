/*
 * experiment_command: the command `experiment`.
 */
#ifndef HARNESS_COMMANDS_EXPERIMENT_COMMAND_H
#define HARNESS_COMMANDS_EXPERIMENT_COMMAND_H

/* Runs what argv asks for, which begins with the command's name; returns the exit code. */
int experiment_command(int argc, const char *const *argv);

#endif
