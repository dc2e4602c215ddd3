/*
 * place_memory: where the memory of a launch lies, and on what pages.
 */
#ifndef HARNESS_WORKER_PLACE_MEMORY_H
#define HARNESS_WORKER_PLACE_MEMORY_H

#include "plan.h"
#include "problem/tensors.h"

/* Called before anything is allocated, and when everything is; false ends the worker with its
 * reason. */
bool worker_memory_policy(struct worker *worker);
bool worker_memory_place(struct worker *worker, const struct worker_plan *plan,
                         const struct tensor_set *sets);

#endif
