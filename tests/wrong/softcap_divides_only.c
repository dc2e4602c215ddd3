/*
 * softcap_divides_only: takes tanh of score / cap and forgets to multiply by the cap.
 */
#include "wrong.h"

static void row(struct work *w)
{
    const struct attn_problem *p = w->problem;
    const float cap = p->options & ATTN_OPTION_SOFTCAP ? p->softcap : 1;
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        if (w->shown[j])
            w->scores[j] =
                capped(w, w->scale * dot(w, j)) / cap + slope_term(w, j) + bias_term(w, j);
    find_maximum(w);
    exponentiate(w);
    sum_values(w);
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(softcap_divides_only, "does not multiply by the softcap");
