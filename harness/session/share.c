/*
 * share: the level of max-min fair sharing.
 */
#include "share.h"

#include "base/stats.h"

double share_level(double *needs, size_t count, double total)
{
    double level = 0;
    stats_sort(needs, count);
    for (size_t i = 0; i < count; i++) {
        level = total / (double)(count - i);
        if (needs[i] > level)
            break;
        total -= needs[i];
    }
    return level;
}
