/*
 * environment: variables that are removed from the caller's environment before any library reads them.
 *
 * The OpenMP runtime would bind this process's first thread when it is loaded, before main, and that thread's
 * CPUs are those that the session may use: one core would be left.  Workers bind their threads themselves.
 * hwloc variables could describe another machine, with CPUs that this process must not use.  Stack sizes
 * too small for any thread are removed, too. A worker keeps its environment, so that tests can give it a
 * made-up machine.
 */
#ifndef HARNESS_SYSTEM_ENVIRONMENT_H
#define HARNESS_SYSTEM_ENVIRONMENT_H

/* Those that were there, "OMP_PROC_BIND, OMP_STACKSIZE (below 512 KiB)"; "" none. */
const char *environment_ignored(void);

#endif
