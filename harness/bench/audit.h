/*
 * audit: whether the clock of a program that times its own calls can be believed.
 *
 * We time each request, too.  The program's time must not exceed ours, and the difference must be explained:
 * by round trips, measured with requests of no call; by copying results, at most three times our own time for
 * the same bytes; and by at most a fifth of the remaining time.  Its time for many calls must also agree with
 * single calls on fresh operands, where no result can be reused and no call skipped.  Single calls below a
 * millisecond prove little, so four times as many calls must also take longer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/message.h"

/* Sums over the requests of a launch, seconds. */
struct audit {
    double program_s; /* time of the calls by the program's clock */
    double wall_s;    /* time of the same requests by our clock */
    double trips_s;   /* time of as many requests of no call */
    double copy_s;    /* time of our own copy of the results */
};

/* Whether the sums agree; false fills why, with both numbers. */
bool audit_holds(const struct audit *audit, struct message why);

/* Whether per_call_s, the time of one call among many, agrees with single_s, the shortest of some single
 * calls less its round trip and copying; false fills why. */
bool audit_agrees(double per_call_s, double single_s, struct message why);

/* Whether many_s, the time of AUDIT_MORE times as many calls, is enough longer than few_s (each the
 * shortest of some): a program that computes each set of operands only once takes as long for both; false
 * fills why. */
#define AUDIT_MORE 4
bool audit_grows(double few_s, double many_s, struct message why);
