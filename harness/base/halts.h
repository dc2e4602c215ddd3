/*
 * halts: how often this process was stopped and continued.
 */
#ifndef HARNESS_BASE_HALTS_H
#define HARNESS_BASE_HALTS_H

/* Stops and continuations (Ctrl-Z, SIGSTOP, a debugger) of this process since the first call. */
long halts_count(void);

#endif
