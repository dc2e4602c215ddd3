/*
 * rival: a kernel that another program computes (docs/protocol.md), behind the interface of a kernel.
 *
 * Whatever judges a kernel judges it: its execute copies the operands to the program and the results
 * back.  Only the clock is the program's: rival_clock.h.
 */
#ifndef HARNESS_WORKER_RIVAL_H
#define HARNESS_WORKER_RIVAL_H

#include "worker.h"

/* The kernel that the request names, computed by the program request.plugin, which is started; NULL
 * fills why.  One at a time. */
const struct attn_kernel *rival_open(struct worker *worker, char *why, size_t why_size);

/* Ends the program. */
void rival_close(void);

/* Asks a program which kernels it has: "kernels" of the answer, as worker_describe() gives them.  False
 * fills why and state. */
bool rival_describe(const char *program, json_t *answer, enum cell_state *state, char *why,
                    size_t why_size);

#endif
