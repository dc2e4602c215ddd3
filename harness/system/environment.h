/*
 * environment: variables of the caller's environment that are taken out of it before any library reads them.
 *
 * The OpenMP runtime would bind this process's first thread when it is loaded, before main, and that thread's
 * CPUs are those that the session may use: one core would be left.  Workers bind their threads themselves.
 * hwloc would take another machine for this one, with CPUs that this process must not use.  Nor are stacks taken
 * that are too small for any thread.  A worker keeps what it is given: whoever starts one by hand can make up a
 * machine.
 */
#ifndef HARNESS_SYSTEM_ENVIRONMENT_H
#define HARNESS_SYSTEM_ENVIRONMENT_H

/* Those that were there, "OMP_PROC_BIND, OMP_STACKSIZE (below 512 KiB)"; "" none. */
const char *environment_ignored(void);

#endif
