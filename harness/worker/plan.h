/*
 * plan: a kernel's plan with its workspace.
 */
#ifndef HARNESS_WORKER_PLAN_H
#define HARNESS_WORKER_PLAN_H

#include "answer.h"
#include "problem/tensors.h"

struct worker_plan {
    struct attn_plan plan;
    void *workspace;
    size_t workspace_bytes;
    double prepare_s;
};

/* CELL_OK where the kernel computes the problem; else why not. */
enum cell_state worker_takes(const struct worker *worker, char *why, size_t why_size);

/* Makes a plan for so many threads: only a plan tells whether a library or a program computes the problem.
 * CELL_OK: the caller closes it; else why not. */
enum cell_state worker_plan_make(const struct worker *worker, int threads, struct worker_plan *plan,
                                 char *why, size_t why_size);

/* On the threads of the request; false ends the worker with its reason. */
bool worker_plan_open(struct worker *worker, struct worker_plan *plan);
void worker_plan_close(struct worker_plan *plan);

/* Where the memory of a launch lies, and on what pages.  Called before anything is allocated, and when
 * everything is; false ends the worker with its reason. */
bool worker_memory_policy(struct worker *worker);
bool worker_memory_place(struct worker *worker, const struct worker_plan *plan,
                         const struct tensor_set *sets);

#endif
