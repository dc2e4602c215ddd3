/*
 * rank_gather: data that rank 0 gathers from the others for an answer, and joint probes.  Each function
 * is called by all ranks together.
 */
#ifndef RING_RANK_GATHER_H
#define RING_RANK_GATHER_H

#include <jansson.h>

#include "ring.h"
#include "system/machine.h"

#define RANK_WHY 240

struct rank_report {
    bool right, unsupported; /* the latter: there is no error, this is only not computed */
    char why[RANK_WHY];
};

/* Whether all ranks are right; the first that is not, in words, into the answer. */
bool rank_all_right(const struct ring_ranks *ranks, const struct rank_report *mine, json_t *answer);

/* "threads" and "cpus" on the host of rank 0, and "library".  `bound`: the CPU of each of this rank's
 * threads; NULL: those that it may use. */
void rank_say_places(const struct ring_ranks *ranks, const int *bound, int threads, json_t *answer);

/* Hosts that the ranks are on, after rank_say_places(); on rank 0. */
int rank_hosts(void);

/* Ping-pong on the ring's links, one after the other: latency and bandwidth of the slowest. */
void rank_link(const struct ring_ranks *ranks, double *latency_s, double *gbytes_per_s);

/* What all ranks can do together: their rates at the same time, added up. */
void rank_ceilings(const struct ring_ranks *ranks, const struct machine *machine, int threads,
                   const json_t *request, json_t *answer);

#endif
