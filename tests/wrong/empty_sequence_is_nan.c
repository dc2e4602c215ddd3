/*
 * empty_sequence_is_nan: divides by the sum of the weights where a sequence has no keys.
 */
#include "wrong.h"

static void row(struct work *w)
{
    honest_row(w);
    const size_t at = w->sequence.q_first + w->i;
    for (size_t d = 0; w->problem->outputs & ATTN_OUTPUT_O && d < w->problem->v_dim; d++)
        if (!w->sequence.kv_len && w->l == 0)
            put(&w->tensors->o, w->b, w->h, at, d, NAN);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(empty_sequence_is_nan, "divides by the sum of a sequence without keys");
