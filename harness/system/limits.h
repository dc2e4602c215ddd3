/*
 * limits: resource limits of a worker, so that a runaway kernel costs its own cell only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct limits {
    size_t memory_bytes; /* private memory, with stacks; 0: no limit */
    bool processes;      /* it may start processes */
};

/* Bytes of private memory that each worker may have: 15/16 of the memory available at the first call, but no
 * more than this process itself may have.  0, no limit, under a sanitizer, whose shadow memory counts as
 * private and is larger than any machine's. */
size_t limits_memory(void);

/* Applies limits to the calling process, across exec, and switches off core dumps.  Makes only calls that are
 * safe after fork.  False sets errno. */
bool limits_apply(const struct limits *limits);

/* Whether the calling process uses at least 7/8 of its memory limit, which goes into *bytes.  Safe in signal
 * handlers. */
bool limits_memory_reached(size_t *bytes);
