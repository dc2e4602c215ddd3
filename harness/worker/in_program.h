/*
 * in_program: a kernel that another program computes (docs/protocol.md), behind the interface of a kernel.
 *
 * Whatever judges a kernel judges it: its execute copies the operands to the program and the results
 * back.  Only the clock is the program's: program_clock.h.
 */
#ifndef HARNESS_WORKER_IN_PROGRAM_H
#define HARNESS_WORKER_IN_PROGRAM_H

#include "backend.h"

/* The kernel that the request names, computed by the program request.plugin, which is started; NULL
 * fills why.  One at a time. */
const struct attn_kernel *in_program_open(struct worker *worker, char *why, size_t why_size);

/* Ends the program. */
void in_program_close(void);

extern const struct backend in_program_backend;

#endif
