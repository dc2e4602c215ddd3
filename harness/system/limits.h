/*
 * limits: resource limits of a worker, so that a runaway kernel costs its own cell only.
 */
#ifndef HARNESS_SYSTEM_LIMITS_H
#define HARNESS_SYSTEM_LIMITS_H

#include <stdbool.h>
#include <stddef.h>

struct limits {
    size_t memory_bytes; /* of private memory, its stacks included; 0: no limit */
    bool processes;      /* it may start processes */
};

/* Bytes of private memory that each worker of this process may have: what is available at the first
 * call, less a sixteenth, and no more than this process itself may have.  0, no limit, under a
 * sanitizer: its shadow memory counts as private and is larger than any machine. */
size_t limits_memory(void);

/* Limits the calling process and all that it becomes; also, it leaves no core dump.  Only calls
 * that are safe after fork.  False sets errno. */
bool limits_apply(const struct limits *limits);

/* Whether the calling process has used up its memory limit, all but an eighth; the limit in *bytes.
 * For signal handlers too. */
bool limits_memory_reached(size_t *bytes);

#endif
