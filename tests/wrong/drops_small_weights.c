/*
 * drops_small_weights: leaves out keys whose score is more than 14 below the maximum, as
 * kernels for long contexts do.
 *
 * Such a key weighs less than 1e-6, but behind a sink all keys are such.
 */
#include "wrong.h"

static void row(struct work *w)
{
    make_scores(w);
    find_maximum(w);
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        w->shown[j] = w->shown[j] && !(w->scores[j] < w->m - 14);
    exponentiate(w);
    sum_values(w);
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(drops_small_weights, "leaves out weights below e^-14");
