/*
 * in_process: kernels of this program and of shared objects, computed by this process.
 */
#ifndef HARNESS_WORKER_IN_PROCESS_H
#define HARNESS_WORKER_IN_PROCESS_H

#include "backend.h"

extern const struct backend in_process_backend;

#endif
