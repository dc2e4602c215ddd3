/*
 * mask_transposed: takes element (j, i) of a boolean mask for (i, j), right for symmetric ones.
 */
#include "wrong.h"

static void row(struct work *w)
{
    const struct attn_problem *p = w->problem;
    const bool square = p->q_len == p->kv_len;
    for (size_t j = 0; p->mask & ATTN_MASK_BOOL && square && j < p->kv_len; j++)
        w->shown[j] = get(&w->tensors->mask, w->b, w->h, j, w->i) != 0 &&
                      bias_term(w, (ptrdiff_t)j) != -INFINITY;
    honest_row(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(mask_transposed, "reads a boolean mask by key and query");
