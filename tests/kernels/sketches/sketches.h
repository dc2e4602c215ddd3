/*
 * sketches: kernels that the library does not have yet, to show that attention.h has room for
 * them.  Each is as plain as can be; what counts is that no signature changes.
 */
#ifndef TESTS_SKETCHES_H
#define TESTS_SKETCHES_H

#include <math.h>

#include "attention.h"

extern const struct attn_kernel sketch_ragged;
extern const struct attn_kernel sketch_paged;
extern const struct attn_kernel sketch_int8_kv;
extern const struct attn_kernel sketch_backward;

/* One key at a time, by running maximum and sum (kernels/online.c): what the forward sketches
 * share, as they differ only in where a row of K and V is. */
struct sketch_row {
    const float *q;
    float *o;
    float m, l;
};

static inline void sketch_start(struct sketch_row *row, const float *q, float *o, size_t v_dim)
{
    *row = (struct sketch_row){.q = q, .o = o, .m = -INFINITY};
    for (size_t d = 0; d < v_dim; d++)
        o[d] = 0;
}

static inline void sketch_see(struct sketch_row *row, const struct attn_problem *problem,
                              const float *k, const float *v)
{
    float x = 0;
    for (size_t d = 0; d < problem->qk_dim; d++)
        x += row->q[d] * k[d];
    x *= attn_problem_scale(problem);
    const float m = x > row->m ? x : row->m, shrink = expf(row->m - m), p = expf(x - m);
    row->m = m;
    row->l = row->l * shrink + p;
    for (size_t d = 0; d < problem->v_dim; d++)
        row->o[d] = row->o[d] * shrink + p * v[d];
}

static inline void sketch_finish(struct sketch_row *row, size_t v_dim)
{
    for (size_t d = 0; d < v_dim; d++)
        row->o[d] = row->l > 0 ? row->o[d] / row->l : 0;
}

#endif
