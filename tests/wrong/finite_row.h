/*
 * finite_row.h: a row in which NaN comes out finite, for the kernels nan_vanishes*.
 *
 * fmaxf() returns its other argument where one is NaN: the maximum of the scores is then that of the
 * others, and the exponential is clamped instead of NaN.
 */
#ifndef TESTS_FINITE_ROW_H
#define TESTS_FINITE_ROW_H

#include "wrong.h"

static inline void finite_row(struct work *w)
{
    make_scores(w);
    w->m = -INFINITY;
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        w->m = fmaxf(w->m, w->scores[j]);
    w->l = 0;
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        w->l += w->scores[j] = expf(fmaxf(w->scores[j] - w->m, -100));
    sum_values(w);
    store(w);
}

#endif
