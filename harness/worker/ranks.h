/*
 * ranks: kernel ring, computed by processes that mpiexec starts, behind the interface of a kernel.
 *
 * Whatever judges a kernel judges it: its execute copies the operands to a file in memory, from which each rank
 * takes its part, and the results back.  Only the clock is theirs, as no other process knows when
 * the slowest of them has finished: rank.c is the program of a rank.
 */
#ifndef HARNESS_WORKER_RANKS_H
#define HARNESS_WORKER_RANKS_H

#include "backend.h"

/* They are started when the first plan is made. */
extern const struct backend ranks_backend;

#endif
