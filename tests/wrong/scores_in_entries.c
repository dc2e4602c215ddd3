/*
 * scores_in_entries: keeps scores in units of an entry of a table of 32 powers of two, 46 times as large as
 * they are, before the maximum is subtracted.
 *
 * Scores near the largest float become infinite on the way.
 */
#include "wrong.h"

#define UNITS (32 * 1.44269504f)

static void row(struct work *w)
{
    make_scores(w);
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        w->scores[j] *= UNITS;
    w->sink *= UNITS;
    find_maximum(w);
    const float m = w->m == -INFINITY ? 0 : w->m;
    w->l = 0;
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        w->l += w->scores[j] = expf((w->scores[j] - m) / UNITS);
    w->l += expf((w->sink - m) / UNITS);
    w->m /= UNITS;
    sum_values(w);
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(scores_in_entries, "scores in units of a table's entries, 46 times as large");
