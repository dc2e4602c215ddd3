/*
 * bytes.h: a row whose keys and values of 8 bits are read by a function of the kernel's own.
 */
#ifndef TESTS_WRONG_BYTES_H
#define TESTS_WRONG_BYTES_H

#include "wrong.h"

/* The number that a byte stands for, without its scale. */
typedef real read_byte(enum attn_dtype dtype, uint8_t x);

static inline void row_of_bytes(struct work *w, read_byte *number)
{
    const enum attn_dtype dtype = w->problem->kv_dtype;
    if (!attn_dtype_scaled(dtype)) {
        honest_row(w);
        return;
    }
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++) {
        const void *q = attn_row(&w->tensors->q, w->b, w->h, w->sequence.q_first + w->i);
        const uint8_t *k = kv_row(w, &w->tensors->k, j);
        real sum = 0;
        for (size_t d = 0; w->shown[j] && d < w->problem->qk_dim; d++)
            sum += element(q, w->tensors->q.dtype, d) * key_scale(w, j, d) * number(dtype, k[d]);
        if (w->shown[j])
            w->scores[j] = capped(w, w->scale * sum) + slope_term(w, j) + bias_term(w, j);
    }
    find_maximum(w);
    exponentiate(w);
    for (size_t d = 0; d < w->problem->v_dim; d++)
        w->o[d] = 0;
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++) {
        const uint8_t *v = kv_row(w, &w->tensors->v, j);
        const real p = w->shown[j] ? w->scores[j] * inverse(w) * value_scale(w, j) : 0;
        for (size_t d = 0; w->shown[j] && d < w->problem->v_dim; d++)
            w->o[d] += p * number(dtype, v[d]);
    }
    store(w);
}

#endif
