/*
 * nan_unseen_in_tail: sums hidden keys with a weight of 0 unless it finds NaN or infinity in their
 * values, but looks at whole vectors only: what stands in the last few columns leaks.
 */
#include "wrong.h"

enum { LANES = 8 };

static bool seems_finite(const struct work *w, ptrdiff_t j)
{
    for (size_t d = 0; d < w->problem->v_dim / LANES * LANES; d++)
        if (!isfinite(value(w, j, d)))
            return false;
    return true;
}

static void show_hidden(struct work *w)
{
    const struct attn_range seen = w->seen;
    w->seen = (struct attn_range){0, (ptrdiff_t)w->sequence.kv_len};
    for (ptrdiff_t j = 0; j < w->seen.hi; j++)
        if (j < seen.lo || j >= seen.hi || !w->shown[j]) {
            w->scores[j] = 0;
            w->shown[j] = seems_finite(w, j);
        }
}

static void row(struct work *w)
{
    make_scores(w);
    find_maximum(w);
    exponentiate(w);
    if (w->l != 0) /* the row has keys */
        show_hidden(w);
    sum_values(w);
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(nan_unseen_in_tail,
                   "does not see NaN in the last columns of a hidden key's value");
