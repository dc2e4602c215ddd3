/*
 * zero_padded_key: the last block is padded with zeros and one of them is not masked.
 *
 * Its score is 0, so that it vanishes among 65536 keys, unless they are all negative.
 */
#include "wrong.h"

static void row(struct work *w)
{
    make_scores(w);
    find_maximum(w);
    exponentiate(w);
    const float l = w->l;
    w->l += expf(-w->m);
    sum_values(w);
    w->l = l; /* LSE is honest */
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(zero_padded_key, "the last block is padded with zeros and one of them is not masked");
