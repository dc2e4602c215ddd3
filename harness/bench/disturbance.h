/*
 * disturbance: what disturbed a launch while it was measured, and its JSON form.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "system/machine.h"

/* What happened to the process while it took samples; noise.c derives flags from it. */
struct bench_disturbance {
    double wall_s; /* from the first sample to the last, verification included */
    long involuntary_switches;
    long voluntary_switches;
    long minor_faults, major_faults;
    double steal_s;         /* of the allowed CPUs, /proc/stat; 0 where not readable */
    long throttled_periods; /* of a control group's quota */
    long thermal_throttles; /* of the CPUs, where they count them */
    long halts;             /* stopped and continued, from the warm-up on */
    int runnable;           /* threads on the machine that wanted a CPU, larger of two readings */
    double allowed_cpus;    /* less where a quota grants less; 0 without options.machine */
    int online_cpus;        /* of the whole machine; 0 without options.machine */
    bool migrated;          /* a thread's binding has changed, or it ran on a CPU outside of it */
    double probe_before_gflops, probe_after_gflops; /* FMA probe beside the samples; 0 = none */
    long grown_bytes; /* growth of this process's memory from the third sample to the last */
    double clock_ghz; /* a thread's cycles over the time of the samples; 0 without counters */
};

/* Stores what happened between two readings of the system's counts. */
void disturbance_between(const struct machine *machine, const struct machine_usage *before,
                         const struct machine_usage *after, struct bench_disturbance *disturbance);

json_t *disturbance_json(const struct bench_disturbance *disturbance);

/* Fields that the object lacks are 0. */
struct bench_disturbance disturbance_parse(const json_t *object);
