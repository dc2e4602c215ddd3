/*
 * gemm_block.h: part of kernel gemm: what a thread works on, and rows of 16-bit elements as floats.
 */
#pragma once

#include <limits.h>

#include "rivals/blas_library.h"
#include "shared/group.h"
#include "shared/keys.h"
#include "shared/terms.h"

/* Measured on Zen 4 (2026-11-21, OpenBLAS 0.3.21): sgemm alone is as fast from 128 rows and 128 keys on;
 * fewer keys on the mask's edge waste less of a product whose result is partly masked. */
enum { ROWS = 192, KEYS = 256, EDGE_KEYS = 64 };

struct block {
    struct group_block rows;
    struct keys source;
    const struct attn_tensors *t;
    const void *q; /* rows x qk_dim, q_stride elements apart, of the type that is multiplied */
    ptrdiff_t q_stride;
    void *packed; /* a packed copy, where the rows are not such a matrix */
    float *
        wide; /* keys of K or V where the library cannot read them: as floats, or copied together */
    float *s; /* rows x keys: scores, then weights before division by l */
    uint16_t *p; /* rows x keys: weights in bf16, where that is what is multiplied */
    float *o;    /* rows x v_dim */
    ptrdiff_t keys;
    struct attn_range range[ROWS]; /* what each row sees */
    struct terms terms[ROWS];
    bool hidden;            /* some row has a key of this turn hidden by an operand */
    float m[ROWS], l[ROWS]; /* running maximum and sum (see online) */
};

/* Whether the library takes these rows as a matrix. */
static bool is_matrix(ptrdiff_t stride, size_t dim)
{
    return stride >= (ptrdiff_t)dim && stride <= INT_MAX;
}

/* The block's rows of Q where they lie, if they are a matrix there. */
static bool find_queries(struct block *block)
{
    const struct attn_tensor *q = &block->t->q;
    block->q = group_row(&block->rows, q, 0);
    block->q_stride = q->stride[2];
    return block->rows.group == 1 && is_matrix(q->stride[2], block->rows.problem->qk_dim);
}

/* What row r sees of keys [j, j + n), counted from j. */
static struct attn_range part(const struct block *block, size_t r, ptrdiff_t j, ptrdiff_t n)
{
    struct attn_range a = block->range[r];
    a.lo = a.lo > j ? a.lo - j : 0;
    a.hi = a.hi - j < n ? a.hi - j : n;
    if (a.hi <= a.lo)
        a.lo = a.hi = 0;
    return a;
}

/* Whether a product may include keys that a row does not see, with a weight of 0. */
static bool cut(const struct block *block, ptrdiff_t j, ptrdiff_t n)
{
    return block->hidden || group_edge(&block->rows, j, n);
}

/* o += s v for rows [r, end) and keys [j, j + n), each row taking its own keys alone. */
static void weigh_rows(struct block *block, size_t r, size_t end, ptrdiff_t j, ptrdiff_t n,
                       const float *v, ptrdiff_t stride)
{
    const size_t dim = block->rows.problem->v_dim;
    for (; r < end; r++) {
        const struct attn_range seen = part(block, r, j, n);
        const float *p = block->s + (ptrdiff_t)r * block->keys + seen.lo;
        terms_weigh(&block->terms[r], j + seen.lo, seen.hi - seen.lo, p, v + seen.lo * stride,
                    stride, block->o + r * dim, dim);
    }
}
