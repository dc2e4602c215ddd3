/*
 * split_kv_tile.h: a tile of up to eight query rows against a block of keys, for split_kv.c.
 *
 * Nothing here broadcasts an element of K (split_kv_eight.h does, for eight rows).  A step is
 * VF_BYTES bytes of a key's row, loaded once and multiplied with every row of the tile; sums stay
 * in the lanes until VF_LANES of them, one per (key, row), are reduced together by a transposing
 * tree of additions (vf_hsum_each).  The result is one vector of scores, lane key * rows + row, on
 * which softmax is lane-wise: maximum, shift and sum of a row stand in all lanes of that row.  P
 * goes to memory and comes back as broadcasts, and each step of a V row is again loaded once for
 * all rows.
 *
 * Registers (avx512): 16 sums of 4 keys x 4 rows, 4 vectors of Q, 1 of K; 16 accumulators of 4
 * rows x 4 steps of O (or 8 x 2), 4 broadcasts of P, 1 vector of V.
 */
#ifndef ATTN_SPLIT_KV_TILE_H
#define ATTN_SPLIT_KV_TILE_H

#include <math.h>
#include <stdbool.h>

#include "split_kv_form.h"

#define EIGHT 8 /* query rows of the highest tile where there are 16 lanes */
#define TILE_ROWS (VF_LANES == 2 * EIGHT ? EIGHT : 4)
#define GROUP_KEYS 16 /* keys whose scores are compared with the running maximum at once */
#define STRIP_KEYS 4  /* key rows read side by side: more of them defeat the hardware's streams */

/*
 * What to fetch while a tile computes: cache lines of coming key rows, in the order of their
 * addresses whatever the order of the loads.  Each line is asked for twice, `far` bytes ahead
 * into L2 and here into L1: the first hides DRAM, where few L1 misses may be outstanding, the
 * second hides L2.
 */
struct cursor {
    const char *at, *row_end;
    ptrdiff_t bytes, stride, far;
    int rows; /* left */
};

VF_INLINE void fetch_next(struct cursor *c)
{
    if (c->rows <= 0)
        return;
    __builtin_prefetch(c->at, 0, 3);
    __builtin_prefetch(c->at + c->far, 0, 2);
    c->at += 64;
    if (c->at >= c->row_end) {
        c->row_end += c->stride;
        c->at = c->row_end - c->bytes;
        c->rows--;
    }
}

/* Key or value rows of one head. */
struct rows {
    const char *data;
    ptrdiff_t stride; /* bytes */
};

/* Query rows and what they have gathered so far in this split. */
struct tile {
    int rows;
    const float *q;     /* [step][row][vector] */
    float scale;        /* of the scores, log2(e) included */
    float *p;           /* [key][row] */
    float *o;           /* unnormalised */
    ptrdiff_t o_floats; /* of a row */
    /* By lane, lane % rows being the row.  Scores are in log2.  P is 2^(score - shift); shift is
     * a maximum of earlier scores and is raised only when a score exceeds limit = shift + 8, so
     * that P stays below 2^8 and most blocks rescale nothing.  No score yet: limit is -inf. */
    float shift[VF_LANES], limit[VF_LANES], sum[VF_LANES];
};

/* sum[strip keys][r rows] += one step of K times Q. */
VF_INLINE void dots_step(const enum form form, const int r, const int strip, vf *sum,
                         const float *q, const char *k, ptrdiff_t stride, int tail,
                         struct cursor *cursor)
{
    const int w = FORM_DOTS(form);
    vf qv[4 * 2];
#pragma GCC unroll 8
    for (int i = 0; i < r * w; i++)
        qv[i] = vf_load(q + i * VF_LANES);
#pragma GCC unroll 4
    for (int j = 0; j < strip; j++) {
        vf kv[2];
        load_k(form, tail, k + j * stride, kv);
        fetch_next(cursor);
#pragma GCC unroll 2
        for (int u = 0; u < w; u++)
#pragma GCC unroll 4
            for (int h = 0; h < r; h++)
                sum[j * r + h] = multiply(form, qv[h * w + u], kv[u], sum[j * r + h]);
    }
}

/* Scores of VF_LANES / r keys from k on. */
VF_INLINE vf vector_of_dots(const enum form form, const int r, const float *q, const char *k,
                            ptrdiff_t stride, const struct axis *axis, struct cursor *cursor)
{
    const int keys = VF_LANES / r, strip = keys < STRIP_KEYS ? keys : STRIP_KEYS;
    const int step = r * FORM_DOTS(form) * VF_LANES;
    vf sum[VF_LANES];
#pragma GCC unroll 16
    for (int i = 0; i < VF_LANES; i++)
        sum[i] = (vf){0};
#pragma GCC unroll 4
    for (int s = 0; s < keys; s += strip) {
        const char *row = k + s * stride;
#pragma GCC unroll 1
        for (ptrdiff_t x = 0; x < axis->full; x++)
            dots_step(form, r, strip, sum + s * r, q + x * step, row + x * VF_BYTES, stride, 0,
                      cursor);
        if (axis->tail)
            dots_step(form, r, strip, sum + s * r, q + axis->full * step,
                      row + axis->full * VF_BYTES, stride, axis->tail, cursor);
    }
    return vf_hsum_each(sum);
}

/* Scores of GROUP_KEYS keys from k on.  (Together with the exponentials in one function GCC 12
 * would keep the sums in memory.) */
VF_INLINE void dots(const enum form form, const int r, vf *s, const float *q, struct rows k,
                    const struct axis *axis, struct cursor *next)
{
    struct cursor cursor = *next; /* in registers */
#pragma GCC unroll 1
    for (int i = 0; i < GROUP_KEYS * r / VF_LANES; i++)
        s[i] = vector_of_dots(form, r, q, k.data + i * (VF_LANES / r) * k.stride, k.stride, axis,
                              &cursor);
    *next = cursor;
}

/* Raises the shift of rows that a score s[0, n) lifts beyond their limit, and rescales what was
 * gathered under the old one; `done` scores of this block are in P already. */
static __attribute__((noinline)) void raise(struct tile *t, const vf *s, int n, int done)
{
    for (int h = 0; h < t->rows; h++) {
        float m = t->limit[h];
        for (int i = 0; i < n; i++)
            for (int lane = h; lane < VF_LANES; lane += t->rows)
                m = s[i][lane] > m ? s[i][lane] : m;
        if (!(m > t->limit[h]))
            continue;
        const float factor = t->limit[h] == -INFINITY ? 0 : exp2f(t->shift[h] - m);
        for (int lane = h; lane < VF_LANES; lane += t->rows) {
            t->shift[lane] = m;
            t->limit[lane] = m + 8;
            t->sum[lane] *= factor;
        }
        for (int i = h; i < done; i += t->rows)
            t->p[i] *= factor;
        for (ptrdiff_t x = 0; x < t->o_floats; x++)
            t->o[h * t->o_floats + x] *= factor;
    }
}

/* P of `done` / rows keys is there; adds that of the unscaled scores s[0, n), of which `hidden`, where not
 * NULL, has one int each, all ones where a mask hides it. */
static void softmax(struct tile *t, vf *s, int n, int done, const int32_t *hidden)
{
    const vf limit = vf_load(t->limit);
    vi over = {0};
    for (int i = 0; i < n; i++) {
        s[i] *= t->scale;
        if (hidden) {
            vi mask;
            memcpy(&mask, hidden + done + i * VF_LANES, sizeof mask);
            s[i] = vf_select(mask, vf_set1(-INFINITY), s[i]);
        }
        over |= ~(vi)(s[i] <= limit); /* NaN too */
    }
    if (__builtin_expect(vi_any(over), 0))
        raise(t, s, n, done);
    const vf shift = vf_load(t->shift);
    vf sum = vf_load(t->sum);
    for (int i = 0; i < n; i++) {
        const vf e = vf_exp2(s[i] - shift);
        vf_store(t->p + done + i * VF_LANES, e);
        sum += e;
    }
    vf_store(t->sum, sum);
}

/* n vectors of O of r rows to registers. */
VF_INLINE void load_sums(const int r, const int n, vf *a, const float *o, ptrdiff_t o_stride)
{
#pragma GCC unroll 8
    for (int h = 0; h < r; h++)
#pragma GCC unroll 16
        for (int x = 0; x < n; x++)
            a[h * n + x] = vf_load(o + h * o_stride + x * VF_LANES);
}

VF_INLINE void store_sums(const int r, const int n, const vf *a, float *o, ptrdiff_t o_stride)
{
#pragma GCC unroll 8
    for (int h = 0; h < r; h++)
#pragma GCC unroll 16
        for (int x = 0; x < n; x++)
            vf_store(o + h * o_stride + x * VF_LANES, a[h * n + x]);
}

/* o[r rows][c steps] += p[keys][r] v[keys][c]; of a step only `tail` bytes exist, if not 0. */
VF_INLINE void accumulate(const enum form form, const int r, const int c, int tail, float *o,
                          ptrdiff_t o_stride, const float *p, ptrdiff_t p_stride, struct rows v,
                          int keys, struct cursor *cursor)
{
    const int w = FORM_VECTORS(form), n = c * w;
    vf a[16];
    load_sums(r, n, a, o, o_stride);
#pragma GCC unroll 1
    for (int j = 0; j < keys; j++) {
        vf pj[TILE_ROWS];
#pragma GCC unroll 8
        for (int h = 0; h < r; h++)
            pj[h] = vf_set1(p[h]);
#pragma GCC unroll 16
        for (int x = 0; x < c; x++) {
            vf vx[2];
            widen_step(form, tail, v.data + x * VF_BYTES, vx);
            fetch_next(cursor);
#pragma GCC unroll 2
            for (int u = 0; u < w; u++)
#pragma GCC unroll 8
                for (int h = 0; h < r; h++)
                    a[h * n + x * w + u] = vf_fma(pj[h], vx[u], a[h * n + x * w + u]);
        }
        v.data += v.stride;
        p += p_stride;
    }
    store_sums(r, n, a, o, o_stride);
}

#endif
