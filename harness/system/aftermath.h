/*
 * aftermath: what a call of a kernel leaves behind in the threads that it ran on, and beside them.
 *
 * The threads of a team outlive a parallel region, and so does what a kernel does to them.
 * Whatever it changes, later calls and other code would run with.  So are the process's language, of which
 * the way numbers are written is a part, and its working directory; these are put back without a word.
 */
#ifndef HARNESS_SYSTEM_AFTERMATH_H
#define HARNESS_SYSTEM_AFTERMATH_H

#include <stdbool.h>

#define AFTERMATH_TEXT 256

/* Numbers that this thread writes have a point again, and relative paths mean what they meant when this was called
 * first: a kernel may call setlocale(), uselocale() and chdir() in any of its functions, and has done nothing wrong.
 * Before numbers are written for others; the two below do it, too. */
void aftermath_settle(void);

/* Gives `threads` threads the floating-point environment that a program starts with and their numbers
 * for messages about faults (fault.h), and notes where they may run and which threads the process
 * has. */
void aftermath_begin(int threads);

/* Puts environment and places back; false where there was something to put back, or where the
 * process has threads that are new and not of the team.  Says the worst: "left 2 threads running",
 * "moved thread 1 off CPU 3", "leaves the floating-point environment changed: flush-to-zero set in
 * thread 0". */
bool aftermath_end(int threads, char text[AFTERMATH_TEXT]);

#endif
