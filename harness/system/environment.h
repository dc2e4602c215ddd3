/*
 * environment: variables that are removed from this process's environment before any library reads them.
 *
 * OMP_PROC_BIND and its like would make the OpenMP runtime bind the first thread when it is loaded, before
 * main; the session, which may use that thread's CPUs, would be left with one core.  Workers bind their
 * threads themselves. hwloc's variables could describe another machine, with CPUs that this process must not
 * use.  Stack sizes too small for any thread are removed, too.  A worker keeps its environment, so that tests
 * can give it a made-up machine.
 */
#ifndef HARNESS_SYSTEM_ENVIRONMENT_H
#define HARNESS_SYSTEM_ENVIRONMENT_H

/* The variables that were removed, "OMP_PROC_BIND, OMP_STACKSIZE (below 512 KiB)"; "": none. */
const char *environment_ignored(void);

#endif
