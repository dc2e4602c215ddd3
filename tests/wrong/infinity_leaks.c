/*
 * infinity_leaks: sums hidden keys with a weight of 0 unless it finds NaN in their values, but looks for no
 * infinity: 0 * infinity is NaN.
 */
#include "wrong.h"

static bool has_nan(const struct work *w, ptrdiff_t j)
{
    for (size_t d = 0; d < w->problem->v_dim; d++)
        if (isnan(value(w, j, d)))
            return true;
    return false;
}

static void row(struct work *w)
{
    make_scores(w);
    find_maximum(w);
    exponentiate(w);
    const struct attn_range seen = w->seen;
    if (w->l != 0) /* the row has keys */
        w->seen = (struct attn_range){0, (ptrdiff_t)w->sequence.kv_len};
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        if (j < seen.lo || j >= seen.hi || !w->shown[j]) {
            w->scores[j] = 0;
            w->shown[j] = !has_nan(w, j);
        }
    sum_values(w);
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(infinity_leaks, "does not see infinity in a hidden key's value");
