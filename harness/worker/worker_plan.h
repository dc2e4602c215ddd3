/*
 * worker_plan: a kernel's plan and workspace (worker_plan.c), and where a launch's memory lies (worker_memory.c).
 */
#pragma once

#include "worker.h"
#include "problem/tensors.h"

struct worker_plan {
    struct attn_plan plan;
    void *workspace;
    size_t workspace_bytes;
    double prepare_s;
};

/* CELL_OK if the kernel's capabilities include the problem; else fills why. */
enum cell_state worker_plan_takes(const struct worker *worker, struct message why);

/* Makes a plan for so many threads; a library or a program may refuse the problem only then.  CELL_OK: the
 * caller closes the plan; else fills why. */
enum cell_state worker_plan_make(const struct worker *worker, int threads, struct worker_plan *plan,
                                 struct message why);

/* Makes a plan for the request's threads; false: worker_end() was called. */
bool worker_plan_open(struct worker *worker, struct worker_plan *plan);
void worker_plan_close(struct worker_plan *plan);

/* ---- where the memory lies (worker_memory.c) --------------------------------------------------- */

/* Sets the memory policy, before any allocation; places a launch's memory and reads back where it lies and on
 * which pages, after all allocations.  False: worker_end() was called. */
bool worker_memory_policy(struct worker *worker);
bool worker_memory_place(struct worker *worker, const struct worker_plan *plan,
                         const struct tensor_set *sets);
