/*
 * dense_operands.h: part of kernel onednn: rows of Q, K, V and O as the dense matrices that the primitives
 * are compiled for, where they lie or copied together.
 */
#pragma once

#include <string.h>

#include "shared/simd16.h"
#include "team.h"

/* What is multiplied. */
#ifdef __AVX512BF16__
typedef uint16_t element;
#define TYPE dnnl_bf16
#define DTYPE ATTN_BF16
#define DTYPES ATTN_BIT(ATTN_BF16)
#else
typedef float element;
#define TYPE dnnl_f32
#define DTYPE ATTN_F32
#define DTYPES (ATTN_BIT(ATTN_F32) | ATTN_BIT(ATTN_BF16) | ATTN_BIT(ATTN_F16))
#endif

/* A thread at work. */
struct worker {
    const struct team *team;
    const struct member *member;
    const struct attn_tensors *t;
    element *q, *o, *k, *v; /* scratch; k and v: of the KV head that is `packed` */
    float *s, *exact;
    element *p;
    size_t packed_b, packed_head;
    bool packed;
};

/* to[0, n) = from[0, n), widened where they differ in type. */
static void copy(element *to, const struct attn_tensor *t, const void *from, size_t n)
{
    if (t->dtype == DTYPE)
        memcpy(to, from, n * sizeof *to);
    else
        row_widen((float *)(void *)to, t->dtype, from, n);
}

/* A block's rows of Q: where they lie or together. */
static const element *queries(const struct worker *w, const struct block *block)
{
    const struct attn_tensor *q = &w->t->q;
    const size_t dim = block->problem->qk_dim;
    const ptrdiff_t stride = q->stride[block->g->by_heads ? 1 : 2];
    if (q->dtype == DTYPE && (stride == (ptrdiff_t)dim || block->rows == 1))
        return attn_row(q, block->b, block_head(block, 0), block_query(block, 0));
    for (size_t r = 0; r < block->rows; r++)
        copy(w->q + r * dim, q, attn_row(q, block->b, block_head(block, r), block_query(block, r)),
             dim);
    return w->q;
}

static bool is_dense(const struct attn_tensor *kv, size_t dim)
{
    return kv->dtype == DTYPE && kv->stride[2] == (ptrdiff_t)dim;
}

static void pack_head(const struct attn_tensor *kv, const struct block *block, size_t dim,
                      element *to)
{
    if (!is_dense(kv, dim))
        for (size_t j = 0; j < block->problem->kv_len; j++)
            copy(to + j * dim, kv, attn_row(kv, block->b, block->head, j), dim);
}

/* Packs K and V of the block's KV head, once for its blocks. */
static void pack(struct worker *w, const struct block *block)
{
    if (w->packed && w->packed_b == block->b && w->packed_head == block->head)
        return;
    pack_head(&w->t->k, block, block->problem->qk_dim, w->k);
    pack_head(&w->t->v, block, block->problem->v_dim, w->v);
    w->packed = true;
    w->packed_b = block->b;
    w->packed_head = block->head;
}

/* The block's first key in K or V. */
static const element *keys(const struct attn_tensor *kv, const struct block *block, size_t dim,
                           const element *packed)
{
    return is_dense(kv, dim) ? attn_row(kv, block->b, block->head, block->start)
                             : packed + block->start * dim;
}

static char *output_row(const struct worker *w, const struct block *block, size_t r)
{
    return attn_row(&w->t->o, block->b, block_head(block, r), block_query(block, r));
}

/* n <= VF_LANES elements of row r from dimension d on. */
static void store(const struct worker *w, const struct block *block, size_t r, size_t d, vf x,
                  size_t n)
{
    const enum attn_dtype dtype = w->t->o.dtype;
    vf_store_elements(dtype, output_row(w, block, r) + d * attn_dtype_size(dtype), x, n);
}

static vf lanes_of(const element *x, size_t n)
{
    return vf_load_elements(DTYPE, x, n);
}

/* The block's rows of O, where the library may write them; else its scratch. */
static void *outputs(const struct worker *w, const struct block *block)
{
    const struct attn_tensor *o = &w->t->o;
    const ptrdiff_t stride = o->stride[block->g->by_heads ? 1 : 2];
    const bool dense = stride == (ptrdiff_t)block->problem->v_dim || block->rows == 1;
    return o->dtype == DTYPE && dense ? output_row(w, block, 0) : (char *)w->o;
}

static void store_rows(const struct worker *w, const struct block *block)
{
    const size_t dim = block->problem->v_dim;
    for (size_t r = 0; r < block->rows; r++)
        for (size_t d = 0; d < dim; d += VF_LANES) {
            const size_t n = dim - d < VF_LANES ? dim - d : VF_LANES;
            store(w, block, r, d, lanes_of(w->o + r * dim + d, n), n);
        }
}
