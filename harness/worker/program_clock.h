/*
 * program_clock: times a program's calls by the program's clock, and audits that clock by ours.
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
    size_t turned;       /* set s lies in slot (s + turned) % count of the file */
    double trip_s;       /* median of TRIPS round trips */
    double least_trip_s; /* shortest round trip so far */
    size_t requests;     /* with calls, so far; the first ones may include one-off work */
    struct audit audit;
    double waited_s; /* seconds of waiting for a CPU before the audit began */
};

/* Copies the sets to the program.  From here on the program is stopped between requests, so that it does not
 * disturb what this process measures. */
void program_clock_open(struct program_clock *clock, struct worker *worker,
                        const struct attn_plan *plan, struct tensor_set *sets, size_t count);

/* The shortest sample, in seconds, beside which round trips, copies and thread wake-ups are negligible. */
double program_clock_sample(const struct program_clock *clock);

/* bench_options.timed, with the clock as its context.  An absurd time ends the launch. */
double program_clock_run(void *clock, size_t first, size_t calls);

/* Copies `count` sets from `first` on, whose operands have changed, to the file; a request without calls lets
 * the program renew its own copies. */
void program_clock_renew(struct program_clock *clock, size_t first, size_t count);

/* After samples of so many calls, per_call_s seconds each: audits the clock, and checks single calls with the
 * operands of other sets, whose errors go into *checked.  A failure ends the launch. */
void program_clock_judge(struct program_clock *clock, size_t calls, double per_call_s,
                         struct check_result *checked);

#endif
