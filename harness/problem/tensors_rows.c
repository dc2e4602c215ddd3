/*
 * tensors_rows: the rows of results, sequence by sequence.
 */
#include "tensors.h"

/* Queries of all sequences in front of number b. */
static size_t queries_before(const struct attn_problem *p, const struct attn_tensors *t, size_t b)
{
    return p->options & ATTN_OPTION_PACKED ? (size_t)((const int32_t *)t->cu_seqlens.data)[b]
                                           : b * p->q_len;
}

size_t tensors_rows(const struct attn_problem *p, const struct attn_tensors *t)
{
    return p->q_heads * queries_before(p, t, p->batch);
}

struct tensors_place tensors_place(const struct attn_problem *p, const struct attn_tensors *t,
                                   size_t number)
{
    size_t b = 0, end = p->batch;
    while (end - b > 1) { /* the last sequence that begins at or before the row, and has one */
        const size_t middle = b + (end - b) / 2;
        if (queries_before(p, t, middle) * p->q_heads <= number)
            b = middle;
        else
            end = middle;
    }
    const struct attn_sequence s = attn_sequence(p, t, b);
    const size_t within = number - queries_before(p, t, b) * p->q_heads;
    const size_t i = within % s.q_len;
    return (struct tensors_place){b, within / s.q_len, i, s.q_first + i};
}
