/*
 * plan: a plan with the workspace that it asked for.
 */
#ifndef HARNESS_WORKER_PLAN_H
#define HARNESS_WORKER_PLAN_H

#include "answer.h"

struct worker_plan {
    struct attn_plan plan;
    void *workspace;
    size_t workspace_bytes;
    double prepare_s;
};

/* Whether the kernel computes the problem; false ends the worker with its reason. */
bool worker_takes(struct worker *worker);

/* Whether it does not on so many threads, which only a plan tells; true fills why. */
bool worker_plan_refused(const struct worker *worker, int threads, char *why, size_t why_size);

/* False ends the worker with its reason. */
bool worker_plan_open(struct worker *worker, struct worker_plan *plan);
void worker_plan_close(struct worker_plan *plan);

#endif
