/*
 * differs_by_call: sums the keys backwards in every other call: right, but not reproducible.
 */
#include "wrong.h"

static unsigned calls;

static void row(struct work *w)
{
    if (calls % 2 == 0) {
        honest_row(w);
        return;
    }
    make_scores(w);
    find_maximum(w);
    const float m = w->m == -INFINITY ? 0 : w->m;
    w->l = 0;
    for (ptrdiff_t j = w->seen.hi - 1; j >= w->seen.lo; j--)
        w->l += w->scores[j] = expf(w->scores[j] - m);
    sum_values(w);
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    calls++;
    each_row(plan, tensors, row);
}

WRONG_KERNEL(differs_by_call,
             "sums the keys backwards in every other call: right, but not reproducible");
