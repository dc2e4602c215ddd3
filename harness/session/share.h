/*
 * share: max-min fair sharing of a budget that may be too small for all needs.
 */
#ifndef HARNESS_SESSION_SHARE_H
#define HARNESS_SESSION_SHARE_H

#include <stddef.h>

/*
 * The max-min fair level: needs up to it are met in full, every larger one gets exactly this much, and
 * together they use up `total`.  Where all needs can be met, it is what remains for the largest after all
 * others.  Sorts the needs.  0 where there are none.
 */
double share_level(double *needs, size_t count, double total);

#endif
