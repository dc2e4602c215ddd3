/*
 * rank_gather: data that rank 0 gathers from the others for an answer, and joint probes.  Each function
 * is called by all ranks together.
 */
#pragma once

#include <jansson.h>

#include "ring.h"
#include "system/machine.h"

#define RANK_WHY 240

struct rank_report {
    bool right, unsupported; /* unsupported: not an error */
    char why[RANK_WHY];
};

/* Whether all ranks are right; else the answer gets the reason of the first that is not. */
bool rank_all_right(const struct ring_ranks *ranks, const struct rank_report *mine, json_t *answer);

/* Adds "threads" and "cpus" on the host of rank 0, and "library", to the answer.  `bound`: the CPU of each of
 * this rank's threads; NULL: those that it may use. */
void rank_say_places(const struct ring_ranks *ranks, const int *bound, int threads, json_t *answer);

/* The number of the ranks' hosts, after rank_say_places(); on rank 0. */
int rank_hosts(void);

/* Latency and bandwidth of the slowest of the ring's links, by ping-pong on one after the other. */
void rank_link(const struct ring_ranks *ranks, double *latency_s, double *gbytes_per_s);

/* Adds the ceilings of all ranks to the answer: the sums of rates measured at the same time. */
void rank_ceilings(const struct ring_ranks *ranks, const struct machine *machine, int threads,
                   const json_t *request, json_t *answer);
