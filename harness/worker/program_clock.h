/*
 * program_clock: times the calls of a program by its own clock, and audits that clock by ours.
 */
#ifndef HARNESS_WORKER_PROGRAM_CLOCK_H
#define HARNESS_WORKER_PROGRAM_CLOCK_H

#include "bench/audit.h"
#include "check/check.h"
#include "program_copy.h"

struct program_clock {
    struct worker *worker;
    const struct attn_plan *plan;
    struct program_copy *copy;
    struct tensor_set *sets;
    size_t count;
    size_t turned;       /* set s lies in place (s + turned) % count of the file */
    double trip_s;       /* median of some round trips */
    double least_trip_s; /* of all so far */
    size_t requests;     /* with calls, so far: the first ones may meet what is done once */
    struct audit audit;
    double waited_s; /* for a CPU, when the audit began */
};

/* Copies the sets to the program, which is stopped between requests from here on: what this process
 * measures meanwhile is not disturbed. */
void program_clock_open(struct program_clock *clock, struct worker *worker,
                        const struct attn_plan *plan, struct tensor_set *sets, size_t count);

/* The shortest sample, seconds, beside which round trips, copies and threads that wake up are small. */
double program_clock_sample(const struct program_clock *clock);

/* bench_options.timed; its context is the clock.  A clock that cannot be believed ends the launch. */
double program_clock_run(void *clock, size_t first, size_t calls);

/* Copies sets whose operands have changed to their places; a request of no call lets the program renew
 * copies of its own. */
void program_clock_renew(struct program_clock *clock, size_t first, size_t count);

/* After the samples of so many calls, each of which took per_call_s: judges the clock, and single calls on
 * exchanged operands, whose results go into *checked.  What is wrong ends the launch. */
void program_clock_judge(struct program_clock *clock, size_t calls, double per_call_s,
                         struct check_result *checked);

#endif
