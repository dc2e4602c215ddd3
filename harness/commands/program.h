/*
 * program: the command line of attnbench, and of programs that add kernels to it.
 */
#pragma once

/* Runs the command that argv names; returns the exit code. */
int program_main(int argc, char **argv);
