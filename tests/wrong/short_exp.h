/*
 * short_exp.h: a kernel that computes in f64, but whose exponentials are off by up to SHORT_EXP_ERROR relatively,
 * as those of a polynomial that is some degrees short.
 */
#ifndef TESTS_WRONG_SHORT_EXP_H
#define TESTS_WRONG_SHORT_EXP_H

#define WRONG_REAL double
#define WRONG_DTYPES (1u << ATTN_F64)
#include "wrong.h"

static void row(struct work *w)
{
    make_scores(w);
    find_maximum(w);
    exponentiate(w);
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        w->scores[j] *= 1 + (j % 2 ? SHORT_EXP_ERROR : -SHORT_EXP_ERROR);
    sum_values(w);
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

#endif
