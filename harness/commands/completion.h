/*
 * completion: what a shell may put in place of the last word of a command line.
 */
#ifndef HARNESS_COMMANDS_COMPLETION_H
#define HARNESS_COMMANDS_COMPLETION_H

/* Prints a line for each word that may stand there, with a tab and what it is; words are those behind the
 * program's name.  Returns the exit status: 1, a file belongs there. */
int completion_print(int count, const char *const *words);

#endif
