/*
 * bench: samples of one plan inside one launch.  Returns numbers, prints nothing.
 *
 * Steps of a launch: warm up, choose the calls per sample, probe the FMA rate, take the samples, repeat the
 * calls of one sample to record when each thread works or waits (teams.h), probe again.
 *
 * A sample is `calls_per_sample` calls in a row, which rotate through the sets of operands; the time of the
 * same loop around an empty kernel is subtracted.  Between samples results are verified and poisoned.  Only
 * the last calls of a sample leave results to verify; a random number of stray calls, which are not timed,
 * varies which calls these are.
 */
#pragma once

#include "disturbance.h"
#include "system/counters.h"
#include "system/machine.h"
#include "problem/tensors.h"

/* There is at most one stray call per this many calls of a sample. */
#define BENCH_STRAY 32

struct bench_options {
    double warmup_s; /* warm up by time */
    double sample_s; /* shortest sample; at least 1000 * clock resolution in any case */
    double budget_s; /* stop sampling after this long, without verification; one sample at least */
    size_t max_samples;
    bool cold;      /* the caller has more sets than caches and TLB can hold: bench_cold_sets() */
    uint64_t seed;  /* of the numbers of stray calls */
    double probe_s; /* length of each FMA probe beside the samples; 0 = none */
    bool counters;  /* read hardware counters around the samples */
    /* For the system's counts of disturbances, and to read the binding back; NULL = neither. */
    const struct machine *machine;
    /* Verifies the outputs of a sample, outside the timed loop: those of `count` sets from number `first`
     * on, in rotation.  False stops the launch: a wrong kernel never gets a time. */
    bool (*verify)(void *context, size_t first, size_t count);
    void *verify_context;
    /* Changes operands before each sample, outside the timed loop, so that no sample repeats earlier
     * calls: those of the sets that its calls will use; in cold mode those of as many sets half a rotation
     * ahead, which have left the caches when they are used. */
    void (*renew)(void *verify_context, size_t first, size_t count);
    /* Runs `calls` calls over the sets in rotation, from number `first` on, and returns their seconds: for
     * a plan that another process computes and times; the empty loop and the times of threads are then not
     * measured.  NULL: attn_execute() and this process's clock. */
    double (*timed)(void *context, size_t first, size_t calls);
    void *timed_context;
    /* Measures the FMA rate where such a plan computes, GFLOP/s, for `seconds`; NULL: on this process's
     * threads. */
    double (*probe)(void *context, double seconds);
};

struct bench_result {
    double *samples_s; /* seconds per call, in the order taken; owned, bench_free() */
    size_t samples;
    size_t calls_per_sample;
    double overhead_s;       /* of the empty loop per call, which is already subtracted */
    double overhead_again_s; /* measured again after the samples, to show how stable it is */
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
};

/* Times attn_execute() over the sets in rotation.  False where memory for the samples is missing,
 * or where a result was wrong: then no number counts. */
bool bench_run(const struct attn_plan *plan, struct tensor_set *sets, size_t set_count,
               const struct bench_options *options, struct bench_result *result);
void bench_free(struct bench_result *result);

/* Parts of bench_run() (bench_threads.c).  Stores working and waiting time of each thread, after
 * teams_stop(); and the counters, NULL where there are none, with the clock rate that follows from them;
 * closes the counters. */
void bench_take_teams(struct bench_result *result);
void bench_take_counters(struct counters *counters, struct bench_result *result);

/* How many sets, of which a call touches `bytes`, are more than caches and TLB can hold; at least 2. */
size_t bench_cold_sets(const struct machine *machine, double bytes);

/* Tests whether the rotation is cold: fills cold_first_s and cold_again_s.  `next` is the set of the next
 * call, the one used longest ago. */
void bench_cold_probe(const struct attn_plan *plan, const struct tensor_set *sets, size_t set_count,
                      size_t next, struct bench_result *result);
