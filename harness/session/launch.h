/*
 * launch: runs a worker process, from its request to its answer, or to the reason why there is none.
 */
#pragma once

#include "results/cell.h"
#include "protocol.h"

struct launch {
    bool interrupted; /* by the user: the launch says nothing about the kernel */
    enum cell_state state;
    char why[CELL_WHY];
    json_t *answer;            /* NULL: none */
    char *log;                 /* the worker's output while it ran a kernel; NULL: none */
    size_t memory_limit_bytes; /* 0: none */
    double wall_s;
};

/* Starts a worker with limits and the environment that its threads and libraries need, and waits for it. */
struct launch launch_worker(const struct protocol_request *request, double deadline_s);

/* Has a worker describe a guest's kernels; or, if `guest` is NULL, whether the kernel's library is
 * installed. */
struct launch launch_describe(const char *kernel, enum attn_isa isa, const struct guest *guest,
                              double deadline_s);

/* Frees answer and log. */
void launch_free(struct launch *launch);

/* Appends the worker's last printed line, in which libraries often explain an abort, to the reason of a
 * failure. Other than printable bytes are escaped. */
void launch_quote(const struct launch *launch, char why[CELL_WHY]);

/* A deadline for so many calls that only a hanging kernel misses, in seconds, from the problem's useful work;
 * docs/protocol.md states it. */
double launch_deadline(const struct attn_problem *problem, double calls);
