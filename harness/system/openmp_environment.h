/*
 * openmp_environment: variables that bind threads, taken out of this process's environment before the OpenMP
 * runtime sees them.
 *
 * The runtime would bind this process's first thread when it is loaded, before main, and that thread's CPUs
 * are those that the session may use: one core would be left.  Workers bind their threads themselves.
 */
#ifndef HARNESS_SYSTEM_OPENMP_ENVIRONMENT_H
#define HARNESS_SYSTEM_OPENMP_ENVIRONMENT_H

/* Names of those that were there, "OMP_PROC_BIND, OMP_PLACES"; "" none. */
const char *openmp_environment_ignored(void);

#endif
