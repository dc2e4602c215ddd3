/*
 * process_private: what process*.c share.
 */
#ifndef HARNESS_SYSTEM_PROCESS_PRIVATE_H
#define HARNESS_SYSTEM_PROCESS_PRIVATE_H

#include <signal.h>
#include <sys/types.h>

#include "process.h"

/* The child's ends of its pipes. */
struct process_ends {
    int request, answer;
    int printed; /* -1: what it prints goes to this process's standard error */
};

/* In the child, after fork: becomes this program again, or ends with 127.  `unblock` are the
 * signals that the parent has blocked for itself. */
_Noreturn void process_become(const struct process_spec *spec, char **environment, pid_t parent,
                              const struct process_ends *ends, const sigset_t *unblock);

#endif
