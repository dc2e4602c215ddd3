/*
 * process_child: what a child does between fork and exec, and which signals interrupt a session; for
 * process*.c only.
 */
#ifndef HARNESS_SYSTEM_PROCESS_CHILD_H
#define HARNESS_SYSTEM_PROCESS_CHILD_H

#include <signal.h>
#include <sys/types.h>

#include "process.h"

/* Signals that interrupt a session.  A scheduler that cancels a job sends them to every process of the job:
 * only the parent obeys, so that a worker's end does not look like a crash of its kernel. */
#define PROCESS_INTERRUPTS 3
extern const int process_interrupts[PROCESS_INTERRUPTS];

/* Blocks interrupts outside of ppoll(), so that none comes between reading the flag and sleeping; and
 * SIGCHLD, so that it can be waited for.  Returns what was blocked before. */
sigset_t process_block(void);

/* The signals blocked now, without interrupts, for ppoll(). */
sigset_t process_unblocked(void);

/* The child's ends of its pipes. */
struct process_ends {
    int request, answer;
    int printed; /* -1: what it prints goes to this process's standard error */
};

/* Starts a child; -1 sets errno.  *failure, in shared memory, gets its errno if it cannot execute the
 * program. */
pid_t process_fork(const struct process_spec *spec, const struct process_ends *ends, int *failure);

/* Removes the file by which OpenMP registers a process, after the process has ended.  LLVM's and Intel's
 * runtimes keep one in shared memory, named by the pid, from when they are loaded, and for a child from
 * fork() on; so processes are started by _Fork().  The file of a killed process stays.  If it was killed
 * before the file was filled, a later process of that pid dies of SIGBUS when it reads it.  Calls only what
 * is safe between fork and exec. */
void process_unregister(pid_t pid);

#endif
