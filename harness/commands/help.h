/*
 * help: the command `help`.
 */
#ifndef HARNESS_COMMANDS_HELP_H
#define HARNESS_COMMANDS_HELP_H

/* argv[0] is "help", argv[1] a topic or a command; without one, lists the topics. */
int help_command(int argc, const char *const *argv);

#endif
