/*
 * audit: whether the clock of a program that times its own calls can be believed.
 *
 * Our clock runs around each request.  The program's time may not exceed ours, and the difference must be
 * explained: by round trips, measured with requests without calls; by copying results, at most three
 * times our own time for the same bytes; and by a fifth of the rest.  Its time for many calls must also
 * agree with single calls on fresh operands, where no result can be reused and no call skipped; as single
 * calls below a millisecond say little, four times the calls must also take longer.
 */
#ifndef HARNESS_BENCH_AUDIT_H
#define HARNESS_BENCH_AUDIT_H

#include <stdbool.h>
#include <stddef.h>

/* Sums over the requests of a launch, seconds. */
struct audit {
    double said_s;  /* by the program's clock */
    double wall_s;  /* by ours, around the same requests */
    double trips_s; /* of as many requests of no call */
    double copy_s;  /* our copying of the results */
};

/* Whether the sums agree; false fills why, with both numbers. */
bool audit_holds(const struct audit *audit, char *why, size_t why_size);

/* Whether a call may take per_call_s among many where the shortest of some single ones took
 * single_s, less its round trip and copying; false fills why. */
bool audit_agrees(double per_call_s, double single_s, char *why, size_t why_size);

/* Whether AUDIT_MORE times the calls that took few_s may take many_s, both the shortest of some: a
 * program that computes each set of operands once takes as long for both; false fills why. */
#define AUDIT_MORE 4
bool audit_grows(double few_s, double many_s, char *why, size_t why_size);

#endif
