/*
 * needs_o: writes O even where only LSE is wanted and O has no memory.
 */
#include "wrong.h"

/* The undefined behaviour is what this is about. */
__attribute__((no_sanitize("undefined"))) static void row(struct work *w)
{
    make_scores(w);
    find_maximum(w);
    exponentiate(w);
    sum_values(w);
    *(volatile float *)attn_row(&w->tensors->o, w->b, w->h, w->i) = 0;
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(needs_o, "writes O even where only LSE is wanted and O has no memory");
