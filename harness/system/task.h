/*
 * task: a process's allowed CPUs, its time of waiting for a CPU, and its peak memory.
 */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/message.h"

/* The next of the processes or threads that a folder of /proc lists; 0 at its end, where it is closed, or if it is
 * NULL. */
pid_t task_next(DIR *folder);

/* CPUs on which this thread may run, at most `capacity`; returns how many. */
size_t task_cpus_own(int *cpus, size_t capacity);

/* Whether every thread of the process may run on these CPUs only; false fills why. */
bool task_cpus_within(pid_t pid, const int *cpus, size_t cpu_count, struct message why);

/* Seconds that a process's first thread (pid 0: the calling thread) was ready to run without a CPU; 0:
 * unknown. */
double task_waited_s(pid_t pid);

/* Seconds since boot in which some thread of this machine or container was ready to run without a CPU, which
 * the system updates every two seconds; 0: unknown. */
double task_all_waited_s(void);

/* Seconds that the thread of a process which waited longest was ready to run without a CPU: time for which
 * the process is not responsible. */
double task_waited_longest_s(pid_t pid);

/* Peak resident memory of the process, bytes; 0: unknown. */
size_t task_peak_bytes(pid_t pid);
