/*
 * k_scale_of_the_next_token: multiplies a key of 8 bits by the scale of the next one.
 */
#include "wrong.h"

static void row(struct work *w)
{
    const ptrdiff_t n = (ptrdiff_t)w->sequence.kv_len;
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++) {
        const void *q = attn_row(&w->tensors->q, w->b, w->h, w->sequence.q_first + w->i);
        const void *k = kv_row(w, &w->tensors->k, j);
        float sum = 0;
        for (size_t d = 0; w->shown[j] && d < w->problem->qk_dim; d++)
            sum += element(q, w->tensors->q.dtype, d) * key_scale(w, (j + 1) % n, d) *
                   element(k, w->tensors->k.dtype, d);
        if (w->shown[j])
            w->scores[j] = capped(w, w->scale * sum) + slope_term(w, j) + bias_term(w, j);
    }
    find_maximum(w);
    exponentiate(w);
    sum_values(w);
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_WHOLE_KERNEL(k_scale_of_the_next_token,
                   "multiplies each key of 8 bits by the scale of the next one");
