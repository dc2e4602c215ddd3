/*
 * task_cpus: where the threads of a process may run, how long they waited for a CPU, and the most memory
 * that the process has had.
 */
#ifndef HARNESS_SYSTEM_TASK_CPUS_H
#define HARNESS_SYSTEM_TASK_CPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* CPUs on which this thread may run, at most `capacity`; returns how many. */
size_t task_cpus_own(int *cpus, size_t capacity);

/* Whether every thread of the process may run on no other than these CPUs; false fills why, as in "a
 * thread may run on CPU 3, outside of 0-1". */
bool task_cpus_within(pid_t pid, const int *cpus, size_t cpu_count, char *why, size_t why_size);

/* Seconds that a process's first thread (0: the calling thread) has been ready to run and had no CPU; 0
 * unreadable. */
double task_waited_s(pid_t pid);

/* Seconds since boot in which some thread of this machine, or of this container's, was ready to run and had
 * no CPU; the system counts them anew every two seconds.  0 unreadable. */
double task_all_waited_s(void);

/* The same for the thread of a process that has waited longest: on a busy machine this is the part of a time
 * that the process is not responsible for. */
double task_waited_longest_s(pid_t pid);

/* Largest resident memory of the process so far, bytes; 0 unreadable. */
size_t task_peak_bytes(pid_t pid);

#endif
