/*
 * rows.h: one query row against the rows of K and V, in vectors along the head dimension.
 *
 * For kernels that work row by row.  `k` and `v` point to the first row used, rows are `stride` elements
 * apart, and nothing after the last element of a row is read.
 */
#pragma once

#include "kernel.h"
#include "simd.h"
#include "simd_reduce.h"

/* Partial sums of a . b, one per lane. */
static inline vf row_dot(const real *a, const real *b, size_t dim)
{
    vf sum = {0};
    size_t d = 0;
    for (; d + VF_LANES <= dim; d += VF_LANES)
        sum += vf_load(a + d) * vf_load(b + d);
    if (d < dim)
        sum += vf_load_partial(a + d, dim - d) * vf_load_partial(b + d, dim - d);
    return sum;
}

/* scores[0, n) = scale * q . k[j].  VF_LANES keys at a time, so that their horizontal sums are one reduction;
 * past the end the last key is read again, and its lanes are dropped. */
static inline void row_scores(const real *q, const real *k, ptrdiff_t stride, ptrdiff_t n,
                              size_t dim, real scale, real *scores)
{
    for (ptrdiff_t j = 0; j < n; j += VF_LANES) {
        vf sums[VF_LANES];
        for (ptrdiff_t lane = 0; lane < VF_LANES; lane++)
            sums[lane] = row_dot(q, k + (j + lane < n ? j + lane : n - 1) * stride, dim);
        const vf x = vf_set1(scale) * vf_hsum_each(sums);
        if (n - j >= VF_LANES)
            vf_store(scores + j, x);
        else
            vf_store_partial(scores + j, x, (size_t)(n - j));
    }
}

/* o[0, vectors * VF_LANES) += sum over j of p[j] * v[j], or v[which[j]].  `vectors`, and whether `which` is
 * NULL, are constants at each call, so that the sums stay in registers.  The sum is added to o once, so that
 * rounding errors grow with the number of calls, not of keys. */
VF_INLINE void row_weigh_vectors(real *o, const real *p, const real *v, ptrdiff_t stride,
                                 const ptrdiff_t *which, ptrdiff_t n, int vectors)
{
    vf sum[8];
    for (int c = 0; c < vectors; c++)
        sum[c] = vf_set1(0);
    for (ptrdiff_t j = 0; j < n; j++) {
        const vf weight = vf_set1(p[j]);
        for (int c = 0; c < vectors; c++)
            sum[c] += weight * vf_load(v + (which ? which[j] : j) * stride + c * VF_LANES);
    }
    for (int c = 0; c < vectors; c++)
        vf_store(o + c * VF_LANES, vf_load(o + c * VF_LANES) + sum[c]);
}

VF_INLINE void row_weigh_each(real *o, const real *p, const real *v, ptrdiff_t stride,
                              const ptrdiff_t *which, ptrdiff_t n, size_t dim)
{
    size_t d = 0;
    for (; d + 8 * VF_LANES <= dim; d += 8 * VF_LANES)
        row_weigh_vectors(o + d, p, v + d, stride, which, n, 8);
    for (; d + 4 * VF_LANES <= dim; d += 4 * VF_LANES)
        row_weigh_vectors(o + d, p, v + d, stride, which, n, 4);
    for (; d + 2 * VF_LANES <= dim; d += 2 * VF_LANES)
        row_weigh_vectors(o + d, p, v + d, stride, which, n, 2);
    for (; d + VF_LANES <= dim; d += VF_LANES)
        row_weigh_vectors(o + d, p, v + d, stride, which, n, 1);
    if (d == dim)
        return;
    vf sum = vf_set1(0);
    for (ptrdiff_t j = 0; j < n; j++)
        sum += vf_set1(p[j]) * vf_load_partial(v + (which ? which[j] : j) * stride + d, dim - d);
    vf_store_partial(o + d, vf_load_partial(o + d, dim - d) + sum, dim - d);
}

/* o[0, dim) += sum over j < n of p[j] * v[j]. */
static inline void row_weigh(real *o, const real *p, const real *v, ptrdiff_t stride, ptrdiff_t n,
                             size_t dim)
{
    row_weigh_each(o, p, v, stride, NULL, n, dim);
}

/* The same with rows which[j] of v. */
static inline void row_weigh_some(real *o, const real *p, const real *v, ptrdiff_t stride,
                                  const ptrdiff_t *which, ptrdiff_t n, size_t dim)
{
    row_weigh_each(o, p, v, stride, which, n, dim);
}

/* to[0, n) = factor * from[0, n); to may be from. */
static inline void row_scale(real *to, const real *from, real factor, size_t n)
{
    for (size_t d = 0; d < n; d++)
        to[d] = factor * from[d];
}

/* Whether n rows hold neither infinity nor NaN: x * 0 is NaN for those alone. */
static inline bool rows_finite(const real *v, ptrdiff_t stride, ptrdiff_t n, size_t dim)
{
    vf zeros = {0};
    for (ptrdiff_t j = 0; j < n; j++) {
        const real *row = v + j * stride;
        size_t d = 0;
        for (; d + VF_LANES <= dim; d += VF_LANES)
            zeros += vf_load(row + d) * vf_set1(0);
        if (d < dim)
            zeros += vf_load_partial(row + d, dim - d) * vf_set1(0);
    }
    return vf_hsum(zeros) == 0;
}
