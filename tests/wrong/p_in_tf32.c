/*
 * p_in_tf32: weights keep 11 bits, as some matrix units take them.
 *
 * Their exponents are those of f32, so that a row whose weight many keys share stays in its bound.
 */
#include "wrong.h"

static void row(struct work *w)
{
    make_scores(w);
    find_maximum(w);
    exponentiate(w);
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        w->scores[j] = attn_bits_float((attn_float_bits(w->scores[j]) + 0x1000) & ~0x1fffu);
    sum_values(w);
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(p_in_tf32, "weights keep 11 bits");
