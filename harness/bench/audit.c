/*
 * audit: the rules and their constants.
 */
#include "audit.h"

/* The share of our time that the program's must be at least.  A program in Python loses some 50 us a request
 * beyond the round trip, while its calls take 10 ms and more. */
#define ACCOUNTED 0.8
#define COPYING 3      /* times our own copy: the program writes to memory outside of our caches */
#define HICCUP_S 0.005 /* a launch: one preemption of the program while its clock does not run */

/* A single call finds cold caches and sleeping threads, so it may take WAKING_S more and 1 / SINGLE times
 * as long as a call among many. */
#define SINGLE 0.4
#define WAKING_S 0.001

#define GROWS 2 /* times as long at least, for AUDIT_MORE times the calls */

bool audit_holds(const struct audit *a, struct message why)
{
    const double net = a->wall_s - a->trips_s - COPYING * a->copy_s;
    if (a->program_s > a->wall_s)
        return refuse(why, "the program says %.3g s for calls around which %.3g s have passed",
                      a->program_s, a->wall_s);
    if (a->program_s >= ACCOUNTED * net - HICCUP_S)
        return true;
    return refuse(
        why, "the program says %.3g s for calls that took %.3g s, without round trips and copying",
        a->program_s, net);
}

bool audit_agrees(double per_call_s, double single_s, struct message why)
{
    if (per_call_s >= SINGLE * (single_s - WAKING_S))
        return true;
    return refuse(
        why,
        "the program says %.3g s a call for many calls, but a single one on new operands takes "
        "%.3g s",
        per_call_s, single_s);
}

bool audit_grows(double few_s, double many_s, struct message why)
{
    if (many_s >= GROWS * few_s)
        return true;
    return refuse(why, "the program says %.3g s for some calls and %.3g s for %d times as many",
                  few_s, many_s, AUDIT_MORE);
}
