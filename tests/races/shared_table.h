/*
 * shared_table.h: a kernel that takes e^x from a table that all threads share, for those of this folder that
 * fill it.
 */
#pragma once

#include "wrong/wrong.h"

#define POWERS 80 /* beyond, expf() */

static float powers[POWERS]; /* e^-n */

static inline void fill_table(void)
{
    for (int n = 0; n < POWERS; n++)
        powers[n] = expf(-(float)n);
}

/* e^x of a score less the maximum, which may be NaN or -inf. */
static inline float from_table(float x)
{
    if (!(x <= 0 && x > -POWERS))
        return expf(x);
    const int n = (int)-x;
    return powers[n] * expf(x + (float)n);
}

static inline void row_by_table(struct work *w)
{
    make_scores(w);
    find_maximum(w);
    const float shift = w->m == -INFINITY ? 0 : w->m;
    w->l = from_table(w->sink - shift);
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        if (w->shown[j])
            w->l += w->scores[j] = from_table(w->scores[j] - shift);
    sum_values(w);
    store(w);
}
