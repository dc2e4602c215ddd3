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

/* What asks a session to end.  A scheduler that cancels a job sends it to every process of the job: the
 * parent alone decides, so that no worker's end is taken for a crash of its kernel. */
#define PROCESS_INTERRUPTS 3
extern const int process_interrupts[PROCESS_INTERRUPTS];

/* Memory in which a child says what kept it from becoming this program, shared before fork: false sets errno.
 * And its errno; 0: nothing did. */
bool process_share_error(void);
int process_child_error(void);

/* In the child, after fork: becomes this program again, or says why not.  `unblock` are the
 * signals that the parent has blocked for itself. */
_Noreturn void process_become(const struct process_spec *spec, char **environment, pid_t parent,
                              const struct process_ends *ends, const sigset_t *unblock);

#endif
