/*
 * rival: a kernel that another program computes.
 */
#ifndef HARNESS_WORKER_RIVAL_H
#define HARNESS_WORKER_RIVAL_H

#include "worker.h"

/* The kernel that the request names, computed by the program request.plugin, which is started; NULL
 * fills why. */
const struct attn_kernel *rival_open(struct worker *worker, char *why, size_t why_size);

/* Asks a program which kernels it has: "kernels" of the answer, as worker_describe() gives them.  False
 * fills why. */
bool rival_describe(const char *program, json_t *answer, char *why, size_t why_size);

#endif
