/*
 * start: what the process does first: its environment and limits, before any library looks at them.
 *
 * OMP_PROC_BIND and its like would make the OpenMP runtime bind the first thread when it is loaded; the session,
 * which may use that thread's CPUs, would be left with one core.  Workers bind their threads themselves. hwloc's
 * variables could describe another machine, with CPUs that this process must not use.  Such variables are removed,
 * and stack sizes too small for any thread.  A worker keeps its environment, so that tests can give it a made-up
 * machine.
 */
#pragma once

/*
 * To be called first in main.  Opens /dev/null for those of descriptors 0 to 2 that are closed, so that no
 * other file gets these numbers and the program's output; using them fails as before.
 *
 * Until that call the process ends with a message and EXIT_ENVIRONMENT (session/session.h) if the limits
 * leave too little stack, or after some seconds of processor time, because OpenBLAS retries allocations
 * endlessly.
 */
void start_begun(void);

/* The variables that were removed, "OMP_PROC_BIND, OMP_STACKSIZE (below 512 KiB)"; "": none. */
const char *start_ignored(void);
