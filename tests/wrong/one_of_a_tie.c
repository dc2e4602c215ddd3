/*
 * one_of_a_tie: keeps only the first of equal scores, as a selection of the largest might.
 */
#include "wrong.h"

static void row(struct work *w)
{
    make_scores(w);
    find_maximum(w);
    exponentiate(w);
    for (ptrdiff_t j = w->seen.hi - 1; j > w->seen.lo; j--)
        if (w->scores[j] == 1 && w->scores[j - 1] == 1) {
            w->scores[j] = 0;
            w->l -= 1;
        }
    sum_values(w);
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(one_of_a_tie,
             "keeps only the first of equal scores, as a selection of the largest might");
