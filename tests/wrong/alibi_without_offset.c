/*
 * alibi_without_offset: takes j - i for the distance of ALiBi, which counts from the wrong end
 * where there are more keys than queries.
 *
 * All scores of a row are off by the same number, so that only LSE and sinks show it.
 */
#include "wrong.h"

static void row(struct work *w)
{
    const struct attn_sequence *s = &w->sequence;
    const float slope =
        w->problem->options & ATTN_OPTION_ALIBI ? get(&w->tensors->slopes, 0, 0, 0, w->h) : 0;
    make_scores(w);
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        if (w->shown[j] && !(w->problem->mask & ATTN_MASK_CAUSAL_TOP_LEFT))
            w->scores[j] += slope * (float)((ptrdiff_t)s->kv_len - (ptrdiff_t)s->q_len);
    find_maximum(w);
    exponentiate(w);
    sum_values(w);
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(alibi_without_offset, "counts the distances of ALiBi from the first key");
