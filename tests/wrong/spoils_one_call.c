/*
 * spoils_one_call: honest but for one call, which test_every_call.c chooses: each must be judged.
 */
#include "wrong.h"

extern int spoil_call, spoil_calls; /* number of the call to spoil; calls so far */
int spoil_call = -1, spoil_calls;

static void row(struct work *w)
{
    make_scores(w);
    find_maximum(w);
    exponentiate(w);
    sum_values(w);
    for (size_t d = 0; d < w->problem->v_dim; d++)
        w->o[d] = 3 * w->o[d] + 10;
    w->l *= 3;
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, spoil_calls++ == spoil_call ? row : honest_row);
}

WRONG_KERNEL(spoils_one_call,
             "honest but for one call, which test_every_call.c chooses: each must be judged");
