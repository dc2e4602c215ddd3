/*
 * products_f32.h: part of kernel flash: the arithmetic in float32, for every variant but those of bf16 pairs.
 *
 * K and V in float32 are read where they lie, one scalar broadcast at a time.  Smaller types are widened to
 * float32 (8 and 4 bits times their scales) and rows of several pages are collected, a block of K and V at a
 * time for all tiles of the task.
 *
 * neon_f16 multiplies Q and K as they are, in f16, and adds in float32; its V is widened as elsewhere.
 * Weights in f16 would not do: those of less than 2^-14 times the largest would lose bits, and those of
 * less than 2^-25 times it would be 0.
 *
 * Defines what products.h lists; products_bf16.h and matrices.h define the same for bf16.
 */
#pragma once

#include "shared/simd_f16.h"
#include "register_sums.h"
#include "tile_operands.h"

#if F16_ALONE
#define FLASH_DTYPES ATTN_BIT(ATTN_F16)
#define FLASH_KV_DTYPES 0 /* int8 times its scale is no f16: other variants compute that */
#else
#define FLASH_DTYPES (ATTN_BIT(ATTN_F32) | ATTN_BIT(ATTN_BF16) | ATTN_BIT(ATTN_F16))
#define FLASH_KV_DTYPES ATTN_DTYPES_SCALED
#endif
#define FLASH_COMPUTE ATTN_F32
#define PAIR 1

/* An element of K as it is multiplied. */
#if F16_PRODUCTS
typedef uint16_t key_element;
#else
typedef float key_element;
#endif
#include "lanes.h"

/* Four lanes have too few registers beside the tile: slower by 14 % in baseline. */
#define FLASH_SPECULATES ((VF_LANES >= 8 || VF_FACTOR_IN_LANE) && !FLASH_DIRECT)

/* ---- operands -------------------------------------------------------------------------------- */

static bool packs(const struct attn_problem *problem)
{
    return keys_copied(problem);
}

#if F16_PRODUCTS
/* Stores a column of queries, float32 in lanes, as f16_fma_lane() reads it: 16 halves for a dimension, of
 * which the first eight are both columns, and the others repeat the second, where a tile of that column alone
 * begins. */
#define QUERY_SCALE(job) 1.0f /* scores are scaled instead */

VF_INLINE void store_query(float *q, vf x)
{
    vf_store_f16((uint16_t *)q, x);
}

VF_INLINE vf load_query(const float *q)
{
    return vf_load_f16((const uint16_t *)q);
}

VF_INLINE vf broadcast_key(const key_element *k)
{
    return (vf)vcvt_f32_f16(vreinterpret_f16_u16(vld1_dup_u16(k)));
}

static void join_columns(const struct tile *t, int dim)
{
    for (float *q = t->q; q < t->q + (ptrdiff_t)dim * FLASH_TILE; q += FLASH_TILE)
        memcpy((uint16_t *)q + VF_LANES, q + VF_LANES, VF_LANES * sizeof(uint16_t));
}

/* K where it lies, or copied from several pages or by a list; V in float32. */
VF_NOINLINE void pack(struct block *block)
{
    const struct job *job = block->job;
    const struct attn_tensors *t = job->tensors;
    const ptrdiff_t row = job->qk_dim * (ptrdiff_t)sizeof(uint16_t);
    uint16_t *k = block->packed;
    float *v = (float *)block->packed + (ptrdiff_t)FLASH_KEYS * job->qk_dim;
    block->k = keys_row(&block->source, &t->k, block->first);
    block->k_stride = t->k.stride[2];
    if (!keys_together(&block->source, block->first, block->keys)) {
        keys_copy(&block->source, &t->k, block->first, block->keys, row, row, k);
        block->k = k;
        block->k_stride = job->qk_dim;
    }
    block->v = keys_reals(&block->source, &t->v, block->first, block->keys, (size_t)job->v_dim, v,
                          &block->v_stride);
}
#else
#define QUERY_SCALE(job) (job)->scale
#define store_query vf_store
#define load_query vf_load
#define broadcast_key vf_broadcast

VF_NOINLINE void pack(struct block *block)
{
    const struct job *job = block->job;
    const struct attn_problem *p = job->problem;
    const struct attn_tensors *t = job->tensors;
    const bool shared = p->options & ATTN_OPTION_SHARED_KV && !attn_dtype_scaled(p->kv_dtype);
    float *k = block->packed, *v = k + (ptrdiff_t)FLASH_KEYS * job->qk_dim;
    block->k = keys_reals(&block->source, &t->k, block->first, block->keys, p->qk_dim, k,
                          &block->k_stride);
    block->v = block->k;
    block->v_stride = block->k_stride;
    if (!shared)
        block->v = keys_reals(&block->source, &t->v, block->first, block->keys, (size_t)job->v_dim,
                              v, &block->v_stride);
}
#endif

/* Rows of Q become a column of a tile; `whole`: there are VF_LANES rows, of VF_LANES elements or
 * more. */
VF_INLINE void load_column(const enum attn_dtype dtype, const bool whole, char *const *rows,
                           int dim, vf scale, float *q)
{
    const size_t bytes = attn_dtype_size(dtype);
    for (int d = 0; d < dim; d += VF_LANES) {
        const int at = vector_start(d, dim), n = whole || dim >= VF_LANES ? VF_LANES : dim;
        vf x[VF_LANES];
        VF_UNROLL
        for (int i = 0; i < VF_LANES; i++)
            x[i] = whole || rows[i]
                       ? vf_load_elements(dtype, rows[i] + (size_t)at * bytes, (size_t)n)
                       : vf_set1(0);
        transpose(x);
        VF_UNROLL
        for (int i = 0; i < VF_LANES; i++)
            if (whole || i < n)
                store_query(q + (ptrdiff_t)(at + i) * FLASH_TILE, x[i] * scale);
    }
}

VF_NOINLINE void load_queries(const struct job *job, struct tile *t)
{
    const int dim = job->qk_dim;
    const enum attn_dtype dtype = job->problem->dtype;
    const vf scale = vf_set1(QUERY_SCALE(job));
    for (int c = 0; c < FLASH_COLS && t->column[c].rows; c++) {
        char *rows[VF_LANES];
        find_rows(&t->column[c], &job->tensors->q, t->column[c].sequence.q_first, rows);
        float *q = t->q + c * VF_LANES;
        const bool whole = t->column[c].rows == VF_LANES && dim >= VF_LANES;
        if (whole && dtype == ATTN_F32)
            load_column(ATTN_F32, true, rows, dim, scale, q);
        else if (whole && dtype == ATTN_BF16)
            load_column(ATTN_BF16, true, rows, dim, scale, q);
        else if (whole && dtype == ATTN_F16)
            load_column(ATTN_F16, true, rows, dim, scale, q);
        else
            load_column(dtype, false, rows, dim, scale, q);
    }
#if F16_PRODUCTS
    join_columns(t, dim);
#endif
}

VF_NOINLINE bool values_finite(const struct block *block, int from, int to)
{
    /* x * 0 is NaN exactly for infinity and NaN, and NaN survives a sum; four, as a sum takes some
     * cycles */
    const ptrdiff_t stride = block->v_stride;
    const int dim = block->job->v_dim;
    vf sum[4] = {{0}};
    float rest = 0;
    for (const float *v = (const float *)block->v + from * stride; from < to; from++, v += stride) {
        int d = 0;
        for (; d + 4 * VF_LANES <= dim; d += 4 * VF_LANES) {
            VF_UNROLL
            for (int i = 0; i < 4; i++)
                sum[i] += vf_load(v + d + i * VF_LANES) * vf_set1(0);
        }
        for (; d + VF_LANES <= dim; d += VF_LANES)
            sum[0] += vf_load(v + d) * vf_set1(0);
        for (; d < dim; d++)
            rest += v[d] * 0;
    }
    const vf all = sum[0] + sum[1] + sum[2] + sum[3];
    return rest == 0 && !vi_any((vi)(all != vf_set1(0)));
}

static float value_at(const struct block *block, int j, int d)
{
    return ((const float *)block->v)[j * block->v_stride + d];
}

static vf weight_at(const struct block *block, int j, int column)
{
    return vf_load(block->s + j * FLASH_TILE + column * VF_LANES);
}

/* ---- steps ----------------------------------------------------------------------------------- */

typedef float value_element;

#define SCALES_SCORES F16_PRODUCTS
#define VALUE_ROW(a) (a).v_stride
#define broadcast_value vf_broadcast
#define multiply_add vf_fma

VF_INLINE const void *first_value(const struct block *block, int from)
{
    return (const float *)block->v + from * block->v_stride;
}

VF_INLINE const void *value_column(const void *first, ptrdiff_t v_stride, int d)
{
    (void)v_stride;
    return (const float *)first + d;
}

/* A row of scores becomes one of weights; returns them. */
VF_INLINE vf weights_of(const enum exponent kind, int rows, float *s, const vf *shift, float unit)
{
    (void)rows; /* 1 */
    const vf p = exponential(kind, vf_load(s), shift, unit);
    vf_store(s, p);
    return p;
}

#if VF_FACTOR_IN_LANE
VF_INLINE void store_weights_of(vf x[FLASH_HIGHEST][FLASH_COLS], float *s, vf sum[FLASH_COLS])
{
    VF_UNROLL
    for (int r = 0; r < FLASH_ROWS; r++) {
        VF_UNROLL
        for (int c = 0; c < FLASH_COLS; c++) {
            const vf p = exp2_above_floor(x[r][c]);
            vf_store(s + r * FLASH_TILE + c * VF_LANES, p);
            sum[c] += p;
        }
    }
}
#endif
