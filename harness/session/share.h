/*
 * share: max-min fair sharing of a budget.
 */
#ifndef HARNESS_SESSION_SHARE_H
#define HARNESS_SESSION_SHARE_H

#include <stddef.h>

/*
 * The max-min fair level: smaller needs are met in full, larger ones get this much each, and together they
 * use up `total`.  If all needs can be met, what is left for the largest after all others.  Sorts the needs.
 * 0 if there are none.
 */
double share_level(double *needs, size_t count, double total);

#endif
