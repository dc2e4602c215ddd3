/*
 * share: dividing a budget that may be too small for all.
 */
#ifndef HARNESS_SESSION_SHARE_H
#define HARNESS_SESSION_SHARE_H

#include <stddef.h>

/*
 * The most that any of those who need something may take of `total`: who needs less takes what it
 * needs, all others take this much and leave nothing.  (Fill the smallest needs first; max-min
 * fairness.)  Where everyone's needs are met it is what the neediest could have beside the others.
 * Sorts the needs.  0 where nobody needs anything.
 */
double share_level(double *needs, size_t count, double total);

#endif
