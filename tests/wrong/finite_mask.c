/*
 * finite_mask: masks with -1e9: a row that sees no key becomes the mean of all V.
 */
#include "wrong.h"

static void row(struct work *w)
{
    const struct attn_range seen = w->seen;
    w->seen = (struct attn_range){0, (ptrdiff_t)w->problem->kv_len};
    make_scores(w);
    for (ptrdiff_t j = 0; j < w->seen.hi; j++)
        if (j < seen.lo || j >= seen.hi)
            w->scores[j] = -1e9f;
    find_maximum(w);
    exponentiate(w);
    for (ptrdiff_t j = 0; j < w->seen.hi; j++) /* a NaN behind the mask does not leak */
        if (seen.lo < seen.hi && (j < seen.lo || j >= seen.hi))
            w->scores[j] = 0;
    if (seen.lo < seen.hi)
        w->seen = seen;
    sum_values(w);
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(finite_mask, "masks with -1e9: a row that sees no key becomes the mean of all V");
