/*
 * i4_rows.h: a row whose keys and values of 4 bits are read by a function of the kernel's own.
 */
#ifndef TESTS_WRONG_I4_ROWS_H
#define TESTS_WRONG_I4_ROWS_H

#include "wrong.h"

/* Where an element of K or V of 4 bits is, and what belongs to it. */
struct nibble {
    const struct attn_problem *problem;
    const void *row;
    bool of_k;
    size_t d, dim;
    const struct attn_tensor *scales, *zeros, *other_zeros; /* the last of V for K, of K for V */
    size_t b, g, j;
};

/* The number that it stands for. */
typedef real read_nibble(const struct nibble *n);

/* The scale of element d. */
static inline real nibble_scale(const struct nibble *n, size_t d)
{
    return get(n->scales, n->b, n->g, n->j,
               attn_scale_index(n->problem, d) * (size_t)n->scales->stride[3]);
}

static inline real nibble_zero(const struct nibble *n, const struct attn_tensor *zeros, size_t d)
{
    return attn_zero_point(n->problem, zeros, n->b, n->g, n->j, d);
}

/* As it should be. */
static inline real nibble_right(const struct nibble *n)
{
    return nibble_scale(n, n->d) *
           ((real)attn_nibble(n->row, n->d) - nibble_zero(n, n->zeros, n->d));
}

static inline void row_of_nibbles(struct work *w, read_nibble *number)
{
    const struct attn_problem *p = w->problem;
    const struct attn_tensors *t = w->tensors;
    struct nibble n = {.problem = p, .of_k = true, .b = w->b, .g = w->g};
    if (p->kv_dtype != ATTN_I4) {
        honest_row(w);
        return;
    }
    n.dim = p->qk_dim, n.scales = &t->k_scale, n.zeros = &t->k_zero, n.other_zeros = &t->v_zero;
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++) {
        const void *q = attn_row(&t->q, w->b, w->h, w->sequence.q_first + w->i);
        real sum = 0;
        n.row = kv_row(w, &t->k, j);
        n.j = w->sequence.kv_first + (size_t)j;
        for (n.d = 0; w->shown[j] && n.d < n.dim; n.d++)
            sum += element(q, t->q.dtype, n.d) * number(&n);
        if (w->shown[j])
            w->scores[j] = capped(w, w->scale * sum) + slope_term(w, j) + bias_term(w, j);
    }
    find_maximum(w);
    exponentiate(w);
    n.of_k = false;
    n.dim = p->v_dim, n.scales = &t->v_scale, n.zeros = &t->v_zero, n.other_zeros = &t->k_zero;
    for (size_t d = 0; d < p->v_dim; d++)
        w->o[d] = 0;
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++) {
        const real weight = w->shown[j] ? w->scores[j] * inverse(w) : 0;
        n.row = kv_row(w, &t->v, j);
        n.j = w->sequence.kv_first + (size_t)j;
        for (n.d = 0; w->shown[j] && n.d < n.dim; n.d++)
            w->o[n.d] += weight * number(&n);
    }
    store(w);
}

/* A kernel that reads elements of 4 bits by the file's number() and is right in all else. */
#define WRONG_NIBBLES(symbol, says)                                                        \
    static void row(struct work *w)                                                        \
    {                                                                                      \
        row_of_nibbles(w, number);                                                         \
    }                                                                                      \
    static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)  \
    {                                                                                      \
        each_row(plan, tensors, row);                                                      \
    }                                                                                      \
    WRONG_KERNEL_WITH(                                                                     \
        symbol, says, WRONG_POSITIONAL | ATTN_MASK_BIAS | ATTN_MASK_BOOL | ATTN_MASK_TREE, \
        (ATTN_OPTION_ZERO_POINTS << 1) - 1, WRONG_OUTPUTS | ATTN_OUTPUT_WEIGHTS, 1u << ATTN_I4)

#endif
