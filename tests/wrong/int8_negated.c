/*
 * int8_negated: changes the sign of int8 keys in a byte, as tricks do that multiply unsigned
 * bytes by signed ones: -128 stays -128.
 */
#include "wrong.h"

static void row(struct work *w)
{
    const struct attn_tensor *q = &w->tensors->q, *k = &w->tensors->k;
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++) {
        const void *q_row = attn_row(q, w->b, w->h, w->sequence.q_first + w->i);
        const int8_t *k_row = kv_row(w, k, j);
        float sum = 0;
        for (size_t d = 0; k->dtype == ATTN_I8 && d < w->problem->qk_dim; d++)
            sum -= element(q_row, q->dtype, d) * key_scale(w, j, d) *
                   (float)(int8_t)(uint8_t)-k_row[d];
        if (w->shown[j])
            w->scores[j] = capped(w, w->scale * (k->dtype == ATTN_I8 ? sum : dot(w, j))) +
                           slope_term(w, j) + bias_term(w, j);
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

WRONG_WHOLE_KERNEL(int8_negated, "changes the sign of int8 keys in a byte, where -128 stays -128");
