/*
 * process_child: a child from its fork until it is the program, and signals; for process*.c only.
 */
#ifndef HARNESS_SYSTEM_PROCESS_CHILD_H
#define HARNESS_SYSTEM_PROCESS_CHILD_H

#include <signal.h>
#include <sys/types.h>

#include "process.h"

/* What asks a session to end.  A scheduler that cancels a job sends it to every process of the job: the
 * parent alone decides, so that no worker's end is taken for a crash of its kernel. */
#define PROCESS_INTERRUPTS 3
extern const int process_interrupts[PROCESS_INTERRUPTS];

/* Blocks interrupts outside of ppoll(), so that none comes between reading the flag and sleeping; and SIGCHLD,
 * which can be waited for then.  Returns what was blocked before. */
sigset_t process_block(void);

/* What is blocked now but for interrupts, for ppoll(). */
sigset_t process_unblocked(void);

/* The child's ends of its pipes. */
struct process_ends {
    int request, answer;
    int printed; /* -1: what it prints goes to this process's standard error */
};

/* Starts a child; -1 sets errno.  What keeps it from becoming the program goes into *failure, which it shares:
 * errno. */
pid_t process_fork(const struct process_spec *spec, const struct process_ends *ends, int *failure);

/* Removes what OpenMP has registered of a process that is no more.  LLVM's and Intel's keep a file in shared
 * memory for each, named by its pid, from the moment that they are loaded, and for a child from fork() on:
 * whoever starts a process uses _Fork().  Where a process is killed the file stays, and if it was killed before
 * it had filled the file, a later process of that pid dies of SIGBUS when it reads it.  Calls nothing but
 * what is safe between fork and exec. */
void process_unregister(pid_t pid);

#endif
