/*
 * rival: a kernel that another program computes (docs/protocol.md), behind the interface of a kernel.
 *
 * It is checked like any kernel: its execute copies the operands to the program and the results back.
 * Only the clock is the program's: rival_clock.h.
 */
#ifndef HARNESS_WORKER_RIVAL_H
#define HARNESS_WORKER_RIVAL_H

#include "backend.h"

/* The kernel that the request names, computed by the program request.plugin, which is started; NULL
 * fills why.  One at a time. */
const struct attn_kernel *rival_open(struct worker *worker, char *why, size_t why_size);

/* Ends the program. */
void rival_close(void);

extern const struct backend rival_backend;

#endif
