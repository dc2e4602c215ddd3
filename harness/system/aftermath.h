/*
 * aftermath: state that a kernel's call changes in its threads and its process.
 *
 * The threads of a team outlive a parallel region, and so do changes that a kernel makes to them: later calls
 * and other code would run with these.  The locale, which formats numbers, and the working directory are
 * restored silently.
 */
#pragma once

#include <stdbool.h>

#define AFTERMATH_TEXT 256

/* Restores this thread's locale, so that numbers are printed with a decimal point, and the working directory
 * of the first call: a kernel may call setlocale(), uselocale() and chdir() in any of its functions.  Call it
 * before numbers are printed for other programs; the two functions below do so, too. */
void aftermath_settle(void);

/* Before a kernel's call: resets the floating-point environment of `threads` threads, numbers them for
 * messages about faults (fault.h), and records their bindings and the process's threads. */
void aftermath_begin(int threads);

/* After it: restores environment and bindings; false if anything had changed, or if the process has new
 * threads outside the team.  text: the worst change, "left 2 threads running", "moved thread 1 off CPU 3",
 * "leaves the floating-point environment changed: flush-to-zero set in thread 0". */
bool aftermath_end(int threads, char text[AFTERMATH_TEXT]);
