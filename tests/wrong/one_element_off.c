/*
 * one_element_off: multiplies one element by 1.00001, which is within the bound on ordinary inputs.
 */
#include "wrong.h"

static void row(struct work *w)
{
    const struct attn_problem *p = w->problem;
    honest_row(w);
    if (w->b == 0 && w->h == 0 && w->i == p->q_len - 1 && p->outputs & ATTN_OUTPUT_O)
        put(&w->tensors->o, 0, 0, w->i, 0, 1.00001F * get(&w->tensors->o, 0, 0, w->i, 0));
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(one_element_off,
             "multiplies one element by 1.00001, which is within what the bound leaves");
