/*
 * bench: samples of one plan inside one launch.  Returns numbers, prints nothing.
 *
 * Steps of a launch: warm up, choose the calls per sample, probe the FMA rate, sample, repeat the
 * calls of one sample to record when each thread works or waits (teams.h), probe again.
 * A sample is `calls_per_sample` calls in a row over the sets in rotation; the same loop
 * without a kernel is measured beside it and subtracted.  Between samples, outside the timed
 * loop, results are verified and poisoned, and a few stray calls are made, which nothing times, so that
 * the calls whose results are verified vary.
 */
#ifndef HARNESS_BENCH_BENCH_H
#define HARNESS_BENCH_BENCH_H

#include "disturbance.h"
#include "system/counters.h"
#include "system/machine.h"
#include "problem/tensors.h"

/* Calls of a sample for each stray one, at least. */
#define BENCH_STRAY 32

struct bench_options {
    double warmup_s; /* warm up by time */
    double sample_s; /* shortest sample; at least 1000 * clock resolution in any case */
    double budget_s; /* stop sampling after this long, verifying apart, but not before a sample */
    size_t max_samples;
    bool cold; /* the caller's sets outgrow the last-level cache and the TLB: bench_cold_sets() */
    uint64_t seed;  /* of the numbers of stray calls */
    double probe_s; /* length of each FMA probe beside the samples; 0 = none */
    bool counters;  /* read hardware counters around the samples */
    /* For the system's counts of disturbances, and to read the binding back; NULL = neither. */
    const struct machine *machine;
    /* Called after each sample, outside the timed loop, with the sets whose outputs it left behind:
     * `count` from number `first` on, in rotation.  False stops the launch: a wrong kernel never
     * gets a time. */
    bool (*verify)(void *context, size_t first, size_t count);
    void *verify_context;
    /* Called before each sample, outside the timed loop, with the sets that its calls will use; in cold
     * mode, with as many sets half a rotation ahead, which are out of the caches by their turn.  Changes
     * operands, so that no sample repeats earlier calls. */
    void (*renew)(void *verify_context, size_t first, size_t count);
    /* Runs `calls` calls over the sets in rotation, from number `first` on, and returns their seconds:
     * for a plan that another process computes and times.  NULL: attn_execute() and this process's
     * clock.  The empty loop and team times, which only this process's threads have, are then not
     * measured. */
    double (*timed)(void *context, size_t first, size_t calls);
    void *timed_context;
    /* Measures the FMA rate of such a plan, GFLOP/s, for so many seconds; NULL: this process's threads do. */
    double (*probe)(void *context, double seconds);
};

struct bench_result {
    double *samples_s; /* seconds per call, in the order taken; owned, bench_free() */
    size_t samples;
    size_t calls_per_sample;
    double overhead_s;       /* empty loop per call, already subtracted */
    double overhead_again_s; /* the same after the samples, to show how stable it is */
    double probing_s;        /* duration of the FMA probes beside the samples */
    double verifying_s;      /* of all verify() and renew() calls */
    double clock_resolution_s;
    double busy_s, barrier_s; /* per call, over threads: mean busy, mean waiting; NaN unknown */
    double *thread_busy_s;    /* per call, of each thread; NULL unknown; owned */
    double *thread_barrier_s;
    int threads;
    /* Cold mode: seconds to read K and V of a set whose turn is near, and to read them again at
     * once; means over some sets.  NaN in warm mode, and where K and V have less than 1 KiB. */
    double cold_first_s, cold_again_s;
    struct counter_values counters; /* over all samples: samples * calls_per_sample calls */
    struct bench_disturbance disturbance;
    bool verified;
    size_t verified_samples;
};

/* Times attn_execute() over the sets in rotation.  False where memory for the samples is missing,
 * or where a result was wrong: then `verified` is false, and so is every number. */
bool bench_run(const struct attn_plan *plan, struct tensor_set *sets, size_t set_count,
               const struct bench_options *options, struct bench_result *result);
void bench_free(struct bench_result *result);

/* Its parts: working and waiting time of each thread, after teams_stop(); the counters, NULL where there
 * are none, and the clock rate that follows from them; closes the counters. */
void bench_take_teams(struct bench_result *result);
void bench_take_counters(struct counters *counters, struct bench_result *result);

/* How many sets no cache and no TLB can hold, at `bytes` touched per call; at least 2. */
size_t bench_cold_sets(const struct machine *machine, double bytes);

/* Shows whether the rotation is cold: fills cold_first_s and cold_again_s; `next` is the set whose
 * turn is next, so the one that was used longest ago. */
void bench_cold_probe(const struct attn_plan *plan, const struct tensor_set *sets, size_t set_count,
                      size_t next, struct bench_result *result);

#endif
