/*
 * races: all threads keep their scores in the same scratch row.
 *
 * sched_yield() makes sure that they meet there also on one core.
 */
#include <sched.h>
#include "wrong.h"

static float shared[4096];

static void row(struct work *w)
{
    float *own = w->scores;
    w->scores = shared;
    make_scores(w);
    sched_yield();
    find_maximum(w);
    exponentiate(w);
    sched_yield();
    sum_values(w);
    store(w);
    w->scores = own;
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(races, "all threads keep their scores in the same scratch row");
