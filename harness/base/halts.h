/*
 * halts: whether this process was stopped and went on.
 */
#ifndef HARNESS_BASE_HALTS_H
#define HARNESS_BASE_HALTS_H

/* How often this process was stopped (Ctrl-Z, SIGSTOP, a debugger) and went on, since the first call. */
long halts_count(void);

#endif
