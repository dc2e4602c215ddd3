/*
 * counters: hardware counters of the processor, where the system permits them.
 *
 * Hardware events through perf_event_open(2), user mode only, on every thread of the OpenMP team;
 * energy of the packages through the RAPL files of powercap.  Virtual machines mostly have neither:
 * then `why` says so, once, and the values are NaN.
 */
#ifndef HARNESS_SYSTEM_COUNTERS_H
#define HARNESS_SYSTEM_COUNTERS_H

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

/* Opens what can be opened on OpenMP threads 0..threads-1; NULL where memory is missing. */
struct counters *counters_open(int threads);
void counters_close(struct counters *counters);

/* Counts between these two calls, and may be repeated; a NULL does nothing. */
void counters_start(struct counters *counters);
void counters_stop(struct counters *counters);

/* Sums over the threads, and over all intervals counted; NaN where unknown.  Scaled up where the
 * system had to multiplex too few counters. */
struct counter_values {
    double value[COUNTER_COUNT];
    double energy_j; /* of all packages, used by any process */
    char why[256];   /* why something is unknown; "" where all is known */
};
void counters_read(const struct counters *counters, struct counter_values *values);

/* {"cycles":..., "energy_j":..., "why":...}, each divided by `calls`; null where unknown. */
json_t *counters_json(const struct counter_values *values, double calls);

/* Energy so far in joules over the package zones under a powercap directory (NULL: the system's),
 * NaN where none can be read; `before` and `after` may lie on both sides of a counter's wrap. */
#define COUNTERS_ZONES 16
struct energy {
    double joules[COUNTERS_ZONES], range[COUNTERS_ZONES];
    int zones;
};
struct energy counters_energy(const char *powercap);
double counters_energy_between(const struct energy *before, const struct energy *after);

#endif
