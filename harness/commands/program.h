/*
 * program: the command line of attnbench, and of programs that add kernels to it.
 */
#ifndef HARNESS_COMMANDS_PROGRAM_H
#define HARNESS_COMMANDS_PROGRAM_H

/* Runs the command that argv names; returns the exit code. */
int program_main(int argc, char **argv);

#endif
