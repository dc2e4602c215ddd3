/*
 * launch: one worker process, from request to answer or to the reason why there is none.
 */
#ifndef HARNESS_SESSION_LAUNCH_H
#define HARNESS_SESSION_LAUNCH_H

#include "results/cell.h"
#include "protocol.h"

#define LAUNCH_WHY 640 /* as large as that of a cell */

struct launch {
    bool interrupted; /* the program was: the launch says nothing about the kernel */
    enum cell_state state;
    char why[LAUNCH_WHY];
    json_t *answer;            /* NULL where the worker gave none */
    char *log;                 /* what it printed while it ran a kernel; NULL: nothing */
    size_t memory_limit_bytes; /* 0: none */
    double wall_s;
};

/* Spawns a worker with the environment its threads and libraries need, and with limits, and waits. */
struct launch launch_worker(const struct protocol_request *request, double deadline_s);

/* Asks a worker what a file has, or where `guest` is NULL, whether that kernel's library is there. */
struct launch launch_describe(const char *kernel, enum attn_isa isa, const struct guest *guest,
                              double deadline_s);

/* Frees answer and log. */
void launch_free(struct launch *launch);

/* Appends the worker's last printed line to the reason of a failure, where libraries explain an abort.
 * It may contain any bytes: they are escaped, so that the reason stays one printable line. */
void launch_quote(const struct launch *launch, char why[LAUNCH_WHY]);

/* A deadline that only a hanging kernel misses, in seconds: by the useful work of the problem. */
double launch_deadline(const struct attn_problem *problem);

#endif
