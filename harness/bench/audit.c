/*
 * audit: the rules and their constants.
 */
#include "audit.h"

#include "base/refuse.h"

/* The share of our clock that the program's must account for.  A worker in Python loses some 50 us a
 * request beyond a round trip, of 10 ms and more that its calls take. */
#define ACCOUNTED 0.8
#define COPYING 3      /* times our own: into memory that is not in our caches */
#define HICCUP_S 0.005 /* a launch: the program was preempted outside of its clock, once */

/* A single call meets cold caches and threads that sleep: it may be so much slower than one of many,
 * and so many seconds more. */
#define SINGLE 0.4
#define WAKING_S 0.001

#define GROWS 2 /* times as long at least, for AUDIT_MORE times the calls */

bool audit_holds(const struct audit *a, char *why, size_t why_size)
{
    const double net = a->wall_s - a->trips_s - COPYING * a->copy_s;
    if (a->said_s > a->wall_s)
        return refuse(why, why_size,
                      "the program says %.3g s for calls around which %.3g s have passed",
                      a->said_s, a->wall_s);
    if (a->said_s >= ACCOUNTED * net - HICCUP_S)
        return true;
    return refuse(
        why, why_size,
        "the program says %.3g s for calls that took %.3g s, without round trips and copying",
        a->said_s, net);
}

bool audit_agrees(double per_call_s, double single_s, char *why, size_t why_size)
{
    if (per_call_s >= SINGLE * (single_s - WAKING_S))
        return true;
    return refuse(
        why, why_size,
        "the program says %.3g s a call for many calls, but a single one on new operands takes "
        "%.3g s",
        per_call_s, single_s);
}

bool audit_grows(double few_s, double many_s, char *why, size_t why_size)
{
    if (many_s >= GROWS * few_s)
        return true;
    return refuse(why, why_size,
                  "the program says %.3g s for some calls and %.3g s for %d times as many", few_s,
                  many_s, AUDIT_MORE);
}
