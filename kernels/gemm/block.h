/*
 * block.h: part of kernel gemm: what a thread works on, and rows of 16-bit elements as floats.
 */
#ifndef ATTN_GEMM_BLOCK_H
#define ATTN_GEMM_BLOCK_H

#include <limits.h>

#include "rivals/blas_library.h"
#include "shared/group.h"
#include "shared/simd16.h"

/* Measured on Zen 4 (2026-11-21, OpenBLAS 0.3.21): sgemm alone is as fast from 128 rows and 128 keys on; fewer keys on
 * the mask's edge waste less of a product whose result is partly masked. */
enum { ROWS = 192, KEYS = 256, EDGE_KEYS = 64 };

struct block {
    struct group_block rows;
    const struct attn_tensors *t;
    const void *q; /* rows x qk_dim, q_stride elements apart, of the type that is multiplied */
    ptrdiff_t q_stride;
    void *packed; /* the same, where they are no such matrix as they lie */
    float *wide;  /* keys of K or V, where they have 16 bits: as floats, or copied together */
    float *s;     /* rows x keys: scores, then weights before division by l */
    uint16_t *p;  /* rows x keys: weights in bf16, where that is what is multiplied */
    float *o;     /* rows x v_dim */
    ptrdiff_t keys;
    struct attn_range range[ROWS]; /* what each row sees */
    float m[ROWS], l[ROWS];        /* running maximum and sum (see online) */
};

/* Whether the library takes these rows as a matrix. */
static bool is_matrix(ptrdiff_t stride, size_t dim)
{
    return stride >= (ptrdiff_t)dim && stride <= INT_MAX;
}

/* Row r of the block in Q or O. */
static void *query_row(const struct group_block *block, const struct attn_tensor *t, size_t r)
{
    return attn_row(t, block->b, group_head(block, r), group_query(block, r));
}

/* The block's rows of Q where they lie, if they are a matrix there. */
static bool find_queries(struct block *block)
{
    const struct attn_tensor *q = &block->t->q;
    block->q = query_row(&block->rows, q, 0);
    block->q_stride = q->stride[2];
    return block->rows.group == 1 && is_matrix(q->stride[2], block->rows.problem->qk_dim);
}

/* Floats of to[0, dim) from elements of a type. */
static void widen(float *to, enum attn_dtype dtype, const void *from, size_t dim)
{
    const size_t bytes = attn_dtype_size(dtype);
    for (size_t d = 0; d < dim; d += VF_LANES) {
        const size_t n = dim - d < VF_LANES ? dim - d : VF_LANES;
        const vf x = vf_load_elements(dtype, (const char *)from + d * bytes, n);
        if (n == VF_LANES)
            vf_store(to + d, x);
        else
            vf_store_partial(to + d, x, n);
    }
}

/* Keys [j, j + n) of K or V as floats in block->wide. */
static void widen_keys(struct block *block, const struct attn_tensor *kv, ptrdiff_t j, ptrdiff_t n,
                       size_t dim)
{
    for (ptrdiff_t i = 0; i < n; i++)
        widen(block->wide + (size_t)i * dim, kv->dtype,
              attn_row(kv, block->rows.b, block->rows.g, (size_t)(j + i)), dim);
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

#endif
