/*
 * audit: whether the clock of a program that times its own calls can be believed.
 *
 * Our clock runs around each request to it.  What the program says can be no more than that, and what it
 * leaves out must be accounted for: by round trips, measured with requests of no call beside the others;
 * by copying of results, for which three times our own copying of the same bytes is granted; and by a
 * fifth of the rest.  What it says of many calls must also agree with single calls on fresh operands,
 * which leave neither results to be kept nor calls to be skipped; a single call of less than a
 * millisecond says little, so that four times the calls must also take longer.
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
