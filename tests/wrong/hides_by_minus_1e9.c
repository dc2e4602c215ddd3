/*
 * hides_by_minus_1e9: hides keys by a score of -1e9 instead of -inf: right until the keys that
 * are left score less.
 *
 * Rows without keys it treats apart, and NaN it keeps out.
 */
#include "wrong.h"

static void row(struct work *w)
{
    bool any = false;
    for (ptrdiff_t j = 0; j < (ptrdiff_t)w->sequence.kv_len; j++)
        any |= is_shown(w, j);
    if (!any) {
        honest_row(w);
        return;
    }
    make_scores(w);
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        w->scores[j] = w->shown[j] ? w->scores[j] : -1e9f;
    find_maximum(w);
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        w->m = !w->shown[j] && w->scores[j] > w->m ? w->scores[j] : w->m;
    exponentiate(w);
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        w->l += w->shown[j] ? 0 : expf(w->scores[j] - w->m);
    sum_values(w);
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(hides_by_minus_1e9,
                   "hides keys by a score of -1e9 and drops them afterwards where it can");
