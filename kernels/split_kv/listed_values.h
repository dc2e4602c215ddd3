/*
 * listed_values.h: part of kernel split_kv: O += P V with rows of V that lie wherever a list names them, read in
 * place: the sums of values.h.
 */
#pragma once

#include "listed_scores.h"
#include "values.h"

/* a[r rows][c steps][vectors of a step] += p[r] times the steps at v; those at `later` are fetched. */
VF_INLINE void listed_value_step(const enum format format, const int r, const int c, int tail,
                                 vf *a, const float *p, const char *v, const char *later)
{
    const int w = FORMAT_VECTORS(format);
    vf pj[MOST_ROWS];
#pragma GCC unroll 8
    for (int h = 0; h < r; h++)
        pj[h] = vf_set1(p[h]);
#if VF_FACTOR_IN_LANE
    if (r == VF_FACTORS)
        weights_in_lanes(pj, p);
#endif
#pragma GCC unroll 16
    for (int x = 0; x < c; x++) {
        vf vx[2];
        widen_step(format, tail, v + x * FORMAT_STEP(format), vx);
        if (FORMAT_FETCHES(format, x))
            __builtin_prefetch(later + x * FORMAT_STEP(format), 0, 3);
#pragma GCC unroll 2
        for (int u = 0; u < w; u++)
#pragma GCC unroll 8
            for (int h = 0; h < r; h++)
                a[(h * c + x) * w + u] = vf_fma(pj[h], vx[u], a[(h * c + x) * w + u]);
    }
}

#if BF16_PAIRS
/* The same of two keys. */
VF_INLINE void listed_pair_step(const enum format format, const int r, const int c, int tail, vf *a,
                                const float *p, const char *v, const char *w, const char *later_v,
                                const char *later_w)
{
    const int n = FORMAT_VECTORS(format);
    vi pj[LANE_ROWS];
#pragma GCC unroll 8
    for (int h = 0; h < r; h++)
        pj[h] = (vi)vf_broadcast(p + h);
#pragma GCC unroll 8
    for (int x = 0; x < c; x++) {
        const ptrdiff_t at = x * VF_BYTES;
        vi both[4];
        join_values(format, load_v(tail, v + at), load_v(tail, w + at), both);
        __builtin_prefetch(later_v + at, 0, 3);
        __builtin_prefetch(later_w + at, 0, 3);
#pragma GCC unroll 8
        for (int h = 0; h < r; h++)
#pragma GCC unroll 4
            for (int u = 0; u < n; u++)
                a[(h * c + x) * n + u] = bf16_dot(pj[h], both[u], a[(h * c + x) * n + u]);
    }
}
#endif

/* Steps [x, x + c) of O of r rows += P V over `keys` keys, a multiple of two. */
VF_INLINE void listed_add(const enum format format, const int r, const int c, int tail, ptrdiff_t x,
                          const struct tile *t, addresses v, ptrdiff_t far, int keys)
{
    const int n = FORMAT_VECTORS(format) * c;
    const ptrdiff_t at = x * FORMAT_STEP(format);
    const addresses next = addresses_of((const char *)v + far);
    float *const o = t->o + x * FORMAT_VECTORS(format) * VF_LANES;
    const float *p = t->p;
    vf a[16];
    load_sums(r, n, a, o, t->o_floats);
#pragma GCC unroll 1
    for (int j = 0; j < keys; p += r) {
#if BF16_PAIRS
        if (FORMAT_PAIRS(format)) {
            listed_pair_step(format, r, c, tail, a, p, v[j] + at, v[j + 1] + at, next[j] + at,
                             next[j + 1] + at);
            j += 2;
            continue;
        }
#endif
        listed_value_step(format, r, c, tail, a, p, v[j] + at, next[j] + at);
        j++;
    }
    store_sums(r, n, a, o, t->o_floats);
}

/* O += P V for the rows of t over `keys` keys. */
VF_INLINE void listed_values(const enum format format, const int r, const struct tile *t, int keys,
                             struct rows v, const struct axis *axis, const struct cursor *next)
{
    const addresses row = addresses_of(v.data);
    const int w = FORMAT_VECTORS(format);
    const int accumulators = VF_REGISTERS == 32 && r > 1 ? 16 : 8;
    const int c = r * w < accumulators ? accumulators / (r * w) : 1;
    ptrdiff_t x = 0;
#pragma GCC unroll 1
    for (; x + c <= axis->full; x += c)
        listed_add(format, r, c, 0, x, t, row, next->far, keys);
#pragma GCC unroll 1
    for (; x < axis->steps; x++)
        listed_add(format, r, 1, x < axis->full ? 0 : axis->tail, x, t, row, next->far, keys);
}
