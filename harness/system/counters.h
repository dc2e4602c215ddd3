/*
 * counters: the processor's hardware counters, if the system permits them.
 *
 * Hardware events by perf_event_open(2), in user mode, on every thread of the OpenMP team; energy of the
 * packages by the RAPL files of powercap.  Most virtual machines have neither: values are then NaN, and `why`
 * has the reason.
 */
#pragma once

#include <jansson.h>

enum counter {
    COUNTER_CYCLES,
    COUNTER_INSTRUCTIONS,
    COUNTER_CACHE_MISSES, /* last-level */
    COUNTER_BRANCH_MISSES,
    COUNTER_COUNT
};

/* "cycles", "instructions", "cache_misses", "branch_misses" */
const char *counter_name(enum counter counter);

struct counters; /* open on the threads of one team */

/* Opens the counters that the system permits on OpenMP threads 0..threads-1; NULL if memory runs out. */
struct counters *counters_open(int threads);
void counters_close(struct counters *counters);

/* Count between these two calls, which may be repeated; with NULL they do nothing. */
void counters_start(struct counters *counters);
void counters_stop(struct counters *counters);

/* Sums over threads and over all intervals counted; NaN: unknown.  Scaled up if the system multiplexed
 * counters. */
struct counter_values {
    double value[COUNTER_COUNT];
    double energy_j; /* of all packages, by all processes */
    char why[256];   /* why values are unknown; "": none is */
};
void counters_read(const struct counters *counters, struct counter_values *values);

/* {"cycles":..., "energy_j":..., "why":...}, numbers divided by `calls`; null: unknown. */
json_t *counters_json(const struct counter_values *values, double calls);

/* Energy counters, in joules, of the package zones in a powercap directory (NULL: the system's); and the
 * energy between two readings, NaN if no zone can be read.  Counters may wrap once in between. */
#define COUNTERS_ZONES 16
struct energy {
    double joules[COUNTERS_ZONES], range[COUNTERS_ZONES];
    int zones;
};
struct energy counters_energy(const char *powercap);
double counters_energy_between(const struct energy *before, const struct energy *after);
