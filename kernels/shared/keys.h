/*
 * keys.h: keys of a sequence as rows of reals, for all layouts and types; for kernel files only.
 *
 * Contiguous reals are read in place.  Keys in several pages, with elements of 4 to 16 bits, or named by a
 * list are copied some at a time: widening is exact, and scales of 8 and 4 bits are applied.
 */
#pragma once

#include "group.h"
#include "simd16.h"

struct keys {
    const struct attn_problem *problem;
    const struct attn_tensors *tensors;
    struct attn_sequence sequence;
    size_t b, g;
    const int32_t *list; /* NULL: none; else j below is an index of its entries */
};

/* Those of a block's rows, which share a list. */
static inline struct keys keys_of(const struct attn_tensors *t, const struct group_block *rows)
{
    const int32_t *list =
        rows->rows ? attn_list(rows->problem, t, rows->b, rows->g, group_query(rows, 0)) : NULL;
    return (struct keys){rows->problem, t, rows->sequence, rows->b, rows->g, list};
}

/* Whether some keys are copied, for which the caller provides memory. */
static inline bool keys_copied(const struct attn_problem *problem)
{
    return problem->kv_dtype != REAL_DTYPE ||
           problem->options & (ATTN_OPTION_PAGED | ATTN_OPTION_INDEX);
}

/* Number of reals in a copy of n keys, of K or V. */
static inline size_t keys_room(const struct attn_problem *problem, size_t n)
{
    return n * (problem->qk_dim > problem->v_dim ? problem->qk_dim : problem->v_dim);
}

/* Key j, or the key that entry j of the list names, -1: none. */
static inline ptrdiff_t keys_at(const struct keys *keys, ptrdiff_t j)
{
    return keys->list ? keys->list[j] : j;
}

/* Row of key j in `kv`, which is tensors->k or v; NULL: the list names none. */
static inline const void *keys_row(const struct keys *keys, const struct attn_tensor *kv,
                                   ptrdiff_t j)
{
    const ptrdiff_t key = keys_at(keys, j);
    if (key < 0)
        return NULL;
    return attn_kv_row(keys->problem, keys->tensors, kv, &keys->sequence, keys->b, keys->g,
                       (size_t)key);
}

/* How many of rows [j, j + n), n > 0, from the first on, are kv->stride[2] elements apart. */
static inline ptrdiff_t keys_run(const struct keys *keys, ptrdiff_t j, ptrdiff_t n)
{
    const size_t page = keys->problem->page_size;
    if (keys->list)
        return 1;
    if (!(keys->problem->options & ATTN_OPTION_PAGED))
        return n;
    const size_t left = page - (size_t)j % page;
    return left < (size_t)n ? (ptrdiff_t)left : n;
}

/* Whether they all are, and exist. */
static inline bool keys_together(const struct keys *keys, ptrdiff_t j, ptrdiff_t n)
{
    return !keys->list && keys_run(keys, j, n) == n;
}

/* Addresses of rows [j, j + n), NULL where a list names none. */
static inline void keys_rows(const struct keys *keys, const struct attn_tensor *kv, ptrdiff_t j,
                             ptrdiff_t n, const void **rows)
{
    const ptrdiff_t step = attn_elements_bytes(kv->dtype, kv->stride[2]);
    for (ptrdiff_t i = 0, run; i < n; i += run) {
        const char *row = keys_row(keys, kv, j + i);
        run = keys_run(keys, j + i, n - i);
        rows[i] = row;
        for (ptrdiff_t r = 1; r < run; r++)
            rows[i + r] = row + r * step;
    }
}

/* Copies rows [j, j + n) as they are, `bytes` each, to rows of `stride` bytes; zeros behind them and where a
 * list names none. */
static inline void keys_copy(const struct keys *keys, const struct attn_tensor *kv, ptrdiff_t j,
                             ptrdiff_t n, ptrdiff_t bytes, ptrdiff_t stride, void *to)
{
    const ptrdiff_t step = attn_elements_bytes(kv->dtype, kv->stride[2]);
    char *at = to;
    for (ptrdiff_t i = 0, run; i < n; i += run) {
        const char *row = keys_row(keys, kv, j + i);
        run = keys_run(keys, j + i, n - i);
        for (ptrdiff_t r = 0; r < run; r++, at += stride) {
            const ptrdiff_t copied = row ? bytes : 0;
            if (row)
                memcpy(at, row + r * step, (size_t)bytes);
            if (copied < stride)
                memset(at + copied, 0, (size_t)(stride - copied));
        }
    }
}

/* Widens dim elements of 8 bits, without their scales. */
static inline void keys_widen_bytes(real *to, enum attn_dtype dtype, const uint8_t *from,
                                    size_t dim)
{
    if (dtype == ATTN_I8)
        for (size_t d = 0; d < dim; d++)
            to[d] = (real)(int8_t)from[d];
    else if (dtype == ATTN_F8E4M3)
        for (size_t d = 0; d < dim; d++)
            to[d] = (real)attn_f8e4m3_to_f32(from[d]);
    else
        for (size_t d = 0; d < dim; d++)
            to[d] = (real)attn_f8e5m2_to_f32(from[d]);
}

/* Widens row j of i4 at `from`, group by group: minus the zero point, times the scale. */
static inline void keys_widen_groups(const struct keys *keys, const struct attn_tensor *kv,
                                     ptrdiff_t j, const uint8_t *from, real *to, size_t dim)
{
    const struct attn_problem *p = keys->problem;
    const struct attn_tensors *t = keys->tensors;
    const bool is_k = kv == &t->k;
    const struct attn_tensor *scales = is_k ? &t->k_scale : &t->v_scale;
    const struct attn_tensor *zeros = is_k ? &t->k_zero : &t->v_zero;
    const size_t row = keys->sequence.kv_first + (size_t)j;
    const float *scale = attn_row_f32(scales, keys->b, keys->g, row);
    for (size_t d = 0; d < dim; d += p->kv_group, scale += scales->stride[3]) {
        const size_t n = dim - d < p->kv_group ? dim - d : p->kv_group;
        const real zero = (real)attn_zero_point(p, zeros, keys->b, keys->g, row, d);
        for (size_t i = 0; i < n / 2; i++) {
            const unsigned both = from[d / 2 + i];
            to[d + 2 * i] = ((real)(int)(both & 15) - zero) * (real)*scale;
            to[d + 2 * i + 1] = ((real)(int)(both >> 4) - zero) * (real)*scale;
        }
        if (n % 2)
            to[d + n - 1] = ((real)(int)(from[(d + n) / 2] & 15) - zero) * (real)*scale;
    }
}

/* Widens row j of 8 bits at `from`, times its scale, which in K may be one per channel. */
static inline void keys_scale(const struct keys *keys, const struct attn_tensor *kv, ptrdiff_t j,
                              const uint8_t *from, real *to, size_t dim)
{
    const bool is_k = kv == &keys->tensors->k;
    const struct attn_tensor *scales = is_k ? &keys->tensors->k_scale : &keys->tensors->v_scale;
    const float *scale =
        attn_row_f32(scales, keys->b, keys->g, keys->sequence.kv_first + (size_t)j);
    keys_widen_bytes(to, kv->dtype, from, dim);
    if (is_k && scales->stride[3] != 0)
        for (size_t d = 0; d < dim; d++)
            to[d] *= (real)scale[d];
    else
        for (size_t d = 0; d < dim; d++)
            to[d] *= (real)*scale;
}

/* Converts row j of K or V, at `from`, to reals. */
static inline void keys_convert(const struct keys *keys, const struct attn_tensor *kv, ptrdiff_t j,
                                const void *from, real *to, size_t dim)
{
    if (kv->dtype == ATTN_I4)
        keys_widen_groups(keys, kv, j, from, to, dim);
    else if (attn_dtype_scaled(kv->dtype))
        keys_scale(keys, kv, j, from, to, dim);
    else
        row_widen(to, kv->dtype, from, dim);
}

/* Keys [j, j + n) of K or V, n > 0, as rows *stride apart: in place, or copied to `copy`, which is unused if
 * keys_copied() is false; zeros if a list names none. */
static inline const real *keys_reals(const struct keys *keys, const struct attn_tensor *kv,
                                     ptrdiff_t j, ptrdiff_t n, size_t dim, real *copy,
                                     ptrdiff_t *stride)
{
    *stride = kv->stride[2];
    if (kv->dtype == REAL_DTYPE && keys_together(keys, j, n))
        return keys_row(keys, kv, j);
    *stride = (ptrdiff_t)dim;
    const ptrdiff_t bytes = attn_elements_bytes(kv->dtype, kv->stride[2]);
    real *to = copy;
    for (ptrdiff_t i = 0, run; i < n; i += run) {
        const char *row = keys_row(keys, kv, j + i);
        run = keys_run(keys, j + i, n - i);
        if (!row) {
            memset(to, 0, dim * sizeof *to);
            to += dim;
            continue;
        }
        for (ptrdiff_t r = i; r < i + run; r++, row += bytes, to += dim)
            keys_convert(keys, kv, keys_at(keys, j + r), row, to, dim);
    }
    return copy;
}
