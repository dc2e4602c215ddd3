/*
 * keys.h: keys of a sequence as rows of floats, wherever and in whatever type they lie; for kernel
 * files only.
 *
 * Floats that follow each other are read in place.  What lies in several pages, or has 8 or 16 bits, is
 * copied some keys at a time: widening is exact, and int8 gets its scales on the way.
 */
#ifndef ATTN_KEYS_H
#define ATTN_KEYS_H

#include "kernel.h"
#include "simd16.h"

struct keys {
    const struct attn_problem *problem;
    const struct attn_tensors *tensors;
    struct attn_sequence sequence;
    size_t b, g;
};

/* Whether some are copied, and their reader has to lend memory. */
static inline bool keys_copied(const struct attn_problem *problem)
{
    return problem->kv_dtype != ATTN_F32 || problem->options & ATTN_OPTION_PAGED;
}

/* Floats that a copy of n keys takes, of K or V. */
static inline size_t keys_floats(const struct attn_problem *problem, size_t n)
{
    return n * (problem->qk_dim > problem->v_dim ? problem->qk_dim : problem->v_dim);
}

/* Row of key j in `kv`, which is tensors->k or v. */
static inline const void *keys_row(const struct keys *keys, const struct attn_tensor *kv,
                                   ptrdiff_t j)
{
    return attn_kv_row(keys->problem, keys->tensors, kv, &keys->sequence, keys->b, keys->g,
                       (size_t)j);
}

/* Whether rows [j, j + n), n > 0, follow each other by kv->stride[2]. */
static inline bool keys_together(const struct keys *keys, ptrdiff_t j, ptrdiff_t n)
{
    const size_t page = keys->problem->page_size;
    return !(keys->problem->options & ATTN_OPTION_PAGED) ||
           (size_t)j / page == (size_t)(j + n - 1) / page;
}

/* Floats of to[0, dim) from elements of a type that is no integer. */
static inline void keys_widen(float *to, enum attn_dtype dtype, const void *from, size_t dim)
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

/* Row j of int8 times its scale: one a token, or in K one a channel. */
static inline void keys_scale(const struct keys *keys, const struct attn_tensor *kv, ptrdiff_t j,
                              float *to, size_t dim)
{
    const bool is_k = kv == &keys->tensors->k;
    const struct attn_tensor *scales = is_k ? &keys->tensors->k_scale : &keys->tensors->v_scale;
    const float *scale =
        attn_row_f32(scales, keys->b, keys->g, keys->sequence.kv_first + (size_t)j);
    const int8_t *from = keys_row(keys, kv, j);
    if (is_k && scales->stride[3] != 0)
        for (size_t d = 0; d < dim; d++)
            to[d] = scale[d] * (float)from[d];
    else
        for (size_t d = 0; d < dim; d++)
            to[d] = *scale * (float)from[d];
}

/* Keys [j, j + n) of K or V, n > 0, as rows *stride apart: where they lie, or row by row in `copy`,
 * which is not looked at where keys_copied() is false. */
static inline const float *keys_f32(const struct keys *keys, const struct attn_tensor *kv,
                                    ptrdiff_t j, ptrdiff_t n, size_t dim, float *copy,
                                    ptrdiff_t *stride)
{
    *stride = kv->stride[2];
    if (kv->dtype == ATTN_F32 && keys_together(keys, j, n))
        return keys_row(keys, kv, j);
    *stride = (ptrdiff_t)dim;
    for (ptrdiff_t i = 0; i < n; i++)
        if (kv->dtype == ATTN_I8)
            keys_scale(keys, kv, j + i, copy + i * *stride, dim);
        else
            keys_widen(copy + i * *stride, kv->dtype, keys_row(keys, kv, j + i), dim);
    return copy;
}

#endif
