/*
 * halts: how often this process was stopped and continued.
 */
#pragma once

/* Stops and continuations (Ctrl-Z, SIGSTOP, a debugger) of this process since the first call. */
long halts_count(void);
