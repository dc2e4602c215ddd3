/*
 * nibbles.h: part of kernel split_kv: the two products with K and V of 4 bits.
 *
 * A step of VF_LANES bytes widens to two vectors, of the even and the odd elements, as bf16 does
 * (format.h): the lower halves of the bytes by a mask, the upper ones by a shift.  Both are converted, less
 * the group's zero point and times its scale, in 9 instructions for two vectors where int8 takes four.
 *
 * The zero point could be taken from sums instead, as z sum(q), and the scale be applied to a group's sums:
 * in groups of 32 and with four rows that saves nothing (per 32 elements 4 loads of z sum(q) and 4 products
 * in place of 4 differences and 4 products), and where both sums cancel it loses digits.
 */
#pragma once

#include "scores.h"

#define NIBBLE_STEP FORMAT_STEP(FORMAT_I4)

/* Whether a line is fetched beside step x: one for each 64 bytes of four rows, or two. */
#define NIBBLE_FETCHES(x) ((x)*NIBBLE_STEP % 16 == 0)

/* The bytes of a step, each in a lane. */
VF_INLINE vi nibble_bytes(const char *p)
{
#if defined __AVX512F__
    return (vi)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p));
#elif defined __AVX2__
    return (vi)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p));
#else
    typedef uint8_t bytes __attribute__((vector_size(VF_LANES)));
    bytes x;
    memcpy(&x, p, sizeof x);
    return __builtin_convertvector(x, vi);
#endif
}

/* The elements of a step less the zero point, times the scale. */
VF_INLINE void widen_nibbles(const char *p, vf zero, vf scale, vf x[2])
{
    const vi both = nibble_bytes(p);
    x[0] = (__builtin_convertvector(both & 15, vf) - zero) * scale;
    x[1] = (__builtin_convertvector(both >> 4, vf) - zero) * scale;
}

/* The same of a step of which only the first `left` elements exist; 0 in place of the others, whatever the
 * scale. */
VF_INLINE void widen_last_nibbles(const char *p, int left, vf zero, vf scale, vf x[2])
{
    char step[NIBBLE_STEP] = {0};
    vi lane;
    memcpy(step, p, (size_t)(left + 1) / 2);
    widen_nibbles(step, zero, scale, x);
    for (int i = 0; i < VF_LANES; i++)
        lane[i] = 2 * i;
    x[0] = vf_select((vi)(lane < left), x[0], (vf){0});
    x[1] = vf_select((vi)(lane + 1 < left), x[1], (vf){0});
}

/* ---- scores ---------------------------------------------------------------------------------- */

/* sum[key][row] += step x of K times Q, for `abreast` keys and r rows; `left` as above, where not 0. */
VF_INLINE void nibble_dots_step(const int r, const int abreast, vf *sum, const float *q,
                                const char *k, ptrdiff_t stride, int left, const vf *zero,
                                const vf *scale)
{
#pragma GCC unroll 4
    for (int j = 0; j < abreast; j++) {
        vf kv[2];
        if (left)
            widen_last_nibbles(k + j * stride, left, zero[j], scale[j], kv);
        else
            widen_nibbles(k + j * stride, zero[j], scale[j], kv);
#pragma GCC unroll 2
        for (int u = 0; u < 2; u++)
#pragma GCC unroll 4
            for (int h = 0; h < r; h++)
                sum[j * r + h] = vf_fma(vf_load(q + (h * 2 + u) * VF_LANES), kv[u], sum[j * r + h]);
    }
}

/* The same of whole rows, from key number `first` of the block on. */
VF_INLINE void nibble_dots_of_keys(const int r, const int abreast, vf *sum, const float *q,
                                   const char *k, ptrdiff_t stride, const struct axis *axis,
                                   int first, struct cursor *cursor)
{
    const struct groups *const g = &axis->groups;
    const float *scales[KEYS_ABREAST], *zeros[KEYS_ABREAST];
#pragma GCC unroll 4
    for (int j = 0; j < abreast; j++) {
        const int key = first + j < g->last ? first + j : g->last;
        scales[j] = g->scale + key * g->scale_row;
        zeros[j] = g->zero + key * g->zero_row;
    }
#pragma GCC unroll 1
    for (ptrdiff_t x = 0, group = 0; x < axis->steps; group++) {
        const ptrdiff_t end = x + g->steps < axis->full ? x + g->steps : axis->full;
        vf scale[KEYS_ABREAST], zero[KEYS_ABREAST];
#pragma GCC unroll 4
        for (int j = 0; j < abreast; j++) {
            scale[j] = vf_set1(scales[j][group * g->scale_each]);
            zero[j] = vf_set1(zeros[j][group * g->zero_each]);
        }
        const ptrdiff_t begin = x;
#pragma GCC unroll 1
        for (; x < end; x++) {
            if (NIBBLE_FETCHES(x))
                fetch_next(cursor);
            nibble_dots_step(r, abreast, sum, q + x * r * 2 * VF_LANES, k + x * NIBBLE_STEP, stride,
                             0, zero, scale);
        }
        if (x == axis->full && x < axis->steps && x < begin + g->steps) {
            nibble_dots_step(r, abreast, sum, q + x * r * 2 * VF_LANES, k + x * NIBBLE_STEP, stride,
                             g->left, zero, scale);
            x++;
        }
    }
}

/* Scores of GROUP_KEYS keys from k on. */
VF_INLINE void dots_of_nibbles(const int r, vf *s, const float *q, struct rows k,
                               const struct axis *axis, struct cursor *next)
{
    const int keys = VF_LANES / r, abreast = keys < KEYS_ABREAST ? keys : KEYS_ABREAST;
    struct cursor cursor = *next; /* in registers */
#pragma GCC unroll 1
    for (int i = 0; i < GROUP_KEYS * r / VF_LANES; i++) {
        vf sum[VF_LANES];
#pragma GCC unroll 16
        for (int n = 0; n < VF_LANES; n++)
            sum[n] = (vf){0};
#pragma GCC unroll 16
        for (int n = 0; n < keys; n += abreast)
            nibble_dots_of_keys(r, abreast, sum + n * r, q, k.data + (i * keys + n) * k.stride,
                                k.stride, axis, i * keys + n, &cursor);
        s[i] = vf_hsum_each(sum);
    }
    *next = cursor;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Steps [x, x + c) of O of r rows += P V over keys [from, to) of a block; `left` as above, where not 0. */
VF_INLINE void add_nibbles(const int r, const int c, int left, const bool fetches, ptrdiff_t x,
                           float *o, ptrdiff_t o_stride, const float *p, ptrdiff_t p_stride,
                           struct rows v, int from, int to, const struct groups *g,
                           struct cursor *cursor)
{
    const int n = 2 * c;
    const char *at = v.data + from * v.stride + x * NIBBLE_STEP;
    const float *scale = g->scale + from * g->scale_row, *zero = g->zero + from * g->zero_row;
    ptrdiff_t scales[16], zeros[16];
    vf a[16];
#pragma GCC unroll 16
    for (int i = 0; i < c; i++) {
        scales[i] = (x + i) / g->steps * g->scale_each;
        zeros[i] = (x + i) / g->steps * g->zero_each;
    }
    o += x * 2 * VF_LANES;
    p += from * p_stride;
    load_sums(r, n, a, o, o_stride);
#pragma GCC unroll 1
    for (int j = from; j < to; j++) {
        vf pj[4];
#pragma GCC unroll 4
        for (int h = 0; h < r; h++)
            pj[h] = vf_set1(p[h]);
        if (fetches)
            fetch_next(cursor);
#pragma GCC unroll 16
        for (int i = 0; i < c; i++) {
            vf vx[2];
            const vf z = vf_set1(zero[zeros[i]]), s = vf_set1(scale[scales[i]]);
            if (left)
                widen_last_nibbles(at + i * NIBBLE_STEP, left, z, s, vx);
            else
                widen_nibbles(at + i * NIBBLE_STEP, z, s, vx);
#pragma GCC unroll 2
            for (int u = 0; u < 2; u++)
#pragma GCC unroll 4
                for (int h = 0; h < r; h++)
                    a[h * n + i * 2 + u] = vf_fma(pj[h], vx[u], a[h * n + i * 2 + u]);
        }
        at += v.stride;
        p += p_stride;
        scale += g->scale_row;
        zero += g->zero_row;
    }
    store_sums(r, n, a, o, o_stride);
}

/* O of rows [row, row + r) of t += P V over keys [from, to) of a block whose values are v. */
VF_INLINE void values_of_nibbles(const int r, const struct tile *t, int row, int from, int to,
                                 struct rows v, const struct axis *axis, struct cursor *next)
{
    struct cursor cursor = *next;
    const struct groups *const g = &axis->groups;
    float *o = t->o + row * t->o_floats;
    const float *p = t->p + row;
    const int accumulators = VF_REGISTERS == 32 && r > 1 ? 16 : 8;
    const int c = accumulators / (2 * r);
    ptrdiff_t x = 0;
#pragma GCC unroll 1
    for (; x + c <= axis->full; x += c)
        if (x * NIBBLE_STEP % 64 == 0)
            add_nibbles(r, c, 0, true, x, o, t->o_floats, p, t->rows, v, from, to, g, &cursor);
        else
            add_nibbles(r, c, 0, false, x, o, t->o_floats, p, t->rows, v, from, to, g, &cursor);
#pragma GCC unroll 1
    for (; x < axis->steps; x++)
        add_nibbles(r, 1, x < axis->full ? 0 : g->left, true, x, o, t->o_floats, p, t->rows, v,
                    from, to, g, &cursor);
    *next = cursor;
}
