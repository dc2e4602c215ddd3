/*
 * rank_say: what rank 0 gathers from the others for an answer, and what they probe together; for rank.c only.
 * Each function is called by all ranks together.
 */
#ifndef HARNESS_WORKER_RANK_SAY_H
#define HARNESS_WORKER_RANK_SAY_H

#include <jansson.h>

#include "ring.h"
#include "system/machine.h"

#define RANK_WHY 240

struct rank_report {
    bool right;
    char why[RANK_WHY];
};

/* Whether all ranks are right; the first that is not, in words, into the answer. */
bool rank_all_right(const struct ring_ranks *ranks, const struct rank_report *mine, json_t *answer);

/* One number of every rank, an array. */
void rank_say_each(const struct ring_ranks *ranks, json_t *answer, const char *key, double mine);

/* "places" and "library": the host of each rank, and the CPUs that its threads are bound to. */
void rank_say_places(const struct ring_ranks *ranks, const int *bound, int threads, json_t *answer);

/* Ping-pong on the ring's links, one after the other: latency and bandwidth of the slowest. */
void rank_say_link(const struct ring_ranks *ranks, json_t *answer);

/* What all ranks can do together: their rates at the same time, added up. */
void rank_ceilings(const struct ring_ranks *ranks, const struct machine *machine, int threads,
                   const json_t *request, json_t *answer);

#endif
