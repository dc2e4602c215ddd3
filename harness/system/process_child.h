/*
 * process_child: starts a child, from fork to exec, and handles interrupts; for process*.c only.
 */
#pragma once

#include <signal.h>
#include <sys/types.h>

#include "process.h"

/* Signals that interrupt a session.  A scheduler that cancels a job sends them to all of its processes; only
 * the parent obeys, so that a worker's end does not look like a crash of its kernel. */
#define PROCESS_INTERRUPTS 3
extern const int process_interrupts[PROCESS_INTERRUPTS];

/* Blocks interrupts outside of ppoll(), so that none arrives between reading the flag and sleeping; and
 * SIGCHLD, so that it can be waited for.  Returns the signals blocked before. */
sigset_t process_block(void);

/* The signals blocked now, without interrupts, for ppoll(). */
sigset_t process_unblocked(void);

/* The child's ends of its pipes. */
struct process_ends {
    int request, answer;
    int printed; /* -1: its output goes to this process's standard error */
};

/* Starts a child; -1 sets errno.  *failure, in shared memory, gets the child's errno if exec fails. */
pid_t process_fork(const struct process_spec *spec, const struct process_ends *ends, int *failure);

/* Removes the file with which OpenMP has registered a process that has ended.  LLVM's and Intel's runtimes
 * create one in shared memory, named by the pid, when they are loaded and after fork(), which is why
 * processes are started by _Fork().  A killed process leaves it; if it is still empty, a later process with
 * that pid dies of SIGBUS when it reads it.  Makes only calls that are safe between fork and exec. */
void process_unregister(pid_t pid);
