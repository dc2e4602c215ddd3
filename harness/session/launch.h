/*
 * launch: one worker process, from request to answer or to the reason why there is none.
 */
#ifndef HARNESS_SESSION_LAUNCH_H
#define HARNESS_SESSION_LAUNCH_H

#include "results/cell.h"
#include "protocol.h"

struct launch {
    bool interrupted; /* the program was: the launch says nothing about the kernel */
    enum cell_state state;
    char why[640];
    json_t *answer; /* owned by the caller; NULL where the worker gave none */
    double wall_s;
};

/* Spawns a worker with the environment its threads and libraries need, and waits. */
struct launch launch_worker(const struct protocol_request *request, double deadline_s);

/* A deadline that only a hanging kernel misses, in seconds: by the useful work of the problem. */
double launch_deadline(const struct attn_problem *problem);

#endif
