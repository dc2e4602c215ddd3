/*
 * ranks: kernel ring, computed by processes that mpiexec starts, behind the interface of a kernel.
 *
 * Whatever judges a kernel judges it: its execute copies the operands to a file in memory, from which each rank
 * takes its part, and the results back.  Only the clock is theirs, as no other process knows when
 * the slowest of them has finished: rank.c is the program of a rank.
 */
#ifndef HARNESS_WORKER_RANKS_H
#define HARNESS_WORKER_RANKS_H

#include "bench/bench.h"
#include "system/conversation.h"
#include "worker.h"

/* Whether ranks can be started here; false fills why. */
bool ranks_available(char *why, size_t why_size);

/* Starts those of the request; NULL fills why.  The first line that they say is theirs, rank.c. */
struct conversation *ranks_start(const struct worker *worker, char *why, size_t why_size);

/* The kernel that the request names, computed by request.ranks ranks; NULL fills why.  They are started when
 * the first plan is made. */
const struct attn_kernel *ranks_open(struct worker *worker, const struct attn_kernel *kernel,
                                     char *why, size_t why_size);
void ranks_close(void);

/* For a measurement: a copy of every set is where the ranks take theirs from. */
void ranks_clock_open(struct worker *worker, const struct attn_plan *plan, struct tensor_set *sets,
                      size_t count);

/* As bench_options.timed and probe; the context is not looked at. */
double ranks_clock_run(void *context, size_t first, size_t calls);
double ranks_probe(void *context, double seconds);

/* "ceiling" of the answer, and what only ranks have: "ranks_sent_bytes" and the rest of
 * the object "ring" of results/schema.json.  Both end the worker where a rank has left its place. */
json_t *ranks_ceilings(const struct tensor_set *set, double fma_gflops, double seconds);
json_t *ranks_answer(size_t *workspace_bytes, size_t *peak_rss_bytes);

/* Name and version of the MPI library. */
const char *ranks_library(void);

#endif
