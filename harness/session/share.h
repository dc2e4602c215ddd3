/*
 * share: max-min fair sharing of a budget that may be too small for all needs.
 */
#ifndef HARNESS_SESSION_SHARE_H
#define HARNESS_SESSION_SHARE_H

#include <stddef.h>

/*
 * The most that any need may take of `total`: smaller needs are met in full, all others get this
 * much, which uses up the total.  (Fill the smallest needs first.)  Where all needs can be met it
 * is what the largest could have after the others.  Sorts the needs.  0 where there are none.
 */
double share_level(double *needs, size_t count, double total);

#endif
