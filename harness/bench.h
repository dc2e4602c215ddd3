/*
 * bench: samples of one plan inside one launch.  Returns numbers, prints nothing.
 */
#ifndef HARNESS_BENCH_H
#define HARNESS_BENCH_H

#include "tensors.h"

struct bench_options {
    double warmup_s; /* warm up by time */
    double sample_s; /* shortest sample: max(1000 * resolution, 1 ms) */
    double budget_s; /* stop sampling after this long; at least one sample is taken */
    size_t max_samples;
    bool cold; /* rotate operands past the last-level cache and the TLB */
    /* Called after each sample, outside the timed stretch, with the set whose output the last
     * timed call wrote; false stops the launch: a wrong kernel never gets a time. */
    bool (*verify)(void *context, const struct tensor_set *set);
    void *verify_context;
};

/* What happened to the process while it sampled: the raw material of flags. */
struct bench_disturbance {
    long involuntary_switches;
    long voluntary_switches;
    long minor_faults, major_faults;
    double steal_s; /* of the allowed CPUs, /proc/stat; 0 where not readable */
    bool migrated;  /* binding read back before and after differ, or CPU outside it */
    double probe_before_gflops, probe_after_gflops; /* FMA probe beside the samples */
};

struct bench_result {
    double *samples_s; /* seconds per call, in the order taken; owned, bench_free() */
    size_t samples;
    size_t calls_per_sample;
    double overhead_s; /* empty loop per call, already subtracted */
    double clock_resolution_s;
    double busy_s, barrier_s; /* per call, over threads: mean busy, mean waiting; NaN unknown */
    struct bench_disturbance disturbance;
    bool verified;
    size_t verified_samples;
};

/* Times attn_execute() over the sets in rotation. */
bool bench_run(const struct attn_plan *plan, struct tensor_set *sets, size_t set_count,
               const struct bench_options *options, struct bench_result *result);
void bench_free(struct bench_result *result);

#endif
