/*
 * nibble_scores.h: part of kernel split_kv: scores of K of 4 bits as pairs of bf16.
 *
 * 16 bytes of 16 keys are transposed: a lane has a key, pairs of Q are broadcast, and one multiply-add applies the
 * scales of a group to 16 sums.  Four bytes of a key are a quad of eight elements, and each of four shifts gives
 * a pair of them that are four apart.  A broadcast is a load as wide as a vector, and Zen 4 has one a cycle, as it
 * has one product.  So two groups of 16 keys are multiplied with each broadcast, where there are as many.
 *
 * A scale times a sum is not the sum of scaled products where the scale is infinite, or the sum too large for a
 * float.  So a score that is not finite is computed again as in nibbles.h.  Subnormal elements of Q count as 0,
 * as for K in bf16.
 */
#pragma once

#include "nibble_pairs.h"

/* Sums of a row and a group of keys: where r rows and n groups have too few to hide the latency of a product, even
 * and odd pairs have sums of their own.  So the last bits of a score depend on r and on n. */
#define NIBBLE_SUMS(r, n) ((r) * (n) < 8 ? 2 : 1)

/* sum[i][which][row] += a quad of GROUP_KEYS keys, quads[i][quad], times Q, for i < n. */
VF_INLINE void add_quad(const int r, const int n, const int quad, vf sum[][2][4], const float *q,
                        __m512i quads[][4])
{
    const int sums_each = NIBBLE_SUMS(r, n);
    const bf16_vector table = nibble_tables[0];
#pragma GCC unroll 4
    for (int pair = 0; pair < 4; pair++) {
        vi k[MOST_KEY_GROUPS];
#pragma GCC unroll 2
        for (int i = 0; i < n; i++)
            k[i] = nibble_pairs(table, _mm512_srli_epi32(quads[i][quad], 4u * (unsigned)pair));
#pragma GCC unroll 4
        for (int h = 0; h < r; h++) {
            const vi both = (vi)vf_broadcast(q + h * VF_LANES + 4 * quad + pair);
#pragma GCC unroll 2
            for (int i = 0; i < n; i++)
                sum[i][pair % sums_each][h] = bf16_dot(both, k[i], sum[i][pair % sums_each][h]);
        }
    }
}

/* The same of the four quads of a step, which are replaced by those of the step at `next`.  Loads stand between
 * products, since a step fills most of the processor's window of instructions (0.94 to 0.97 of the time of a call
 * on Zen 4, 2026-11-30). */
VF_INLINE void add_step(const int r, const int n, vf sum[][2][4], const float *q,
                        __m512i quads[][4], const char *next, ptrdiff_t stride)
{
    __m512i later[MOST_KEY_GROUPS][4];
#pragma GCC unroll 4
    for (int quad = 0; quad < 4; quad++) {
#pragma GCC unroll 2
        for (int i = 0; i < n; i++)
            later[i][quad] =
                load_quarter(next + (i * GROUP_KEYS + 4 * quad) * stride, stride, 0xffff);
        add_quad(r, n, quad, sum, q, quads);
    }
#pragma GCC unroll 2
    for (int i = 0; i < n; i++) {
        transpose_quarters(later[i]);
        memcpy(quads[i], later[i], sizeof later[i]);
    }
}

#define SCORE_LANE(t, r) (LANE_OF_KEY((t) / (r)) + (t) % (r)*VF_LANES)
#define LATER_SCORE_LANE(t, r) SCORE_LANE((t) + VF_LANES, r)

/* From a vector for each row, whose lanes are as LANE_OF_KEY() says, to lanes key * r + row. */
VF_INLINE void interleave_rows(const int r, const vf *x, vf *s)
{
    if (r == 4) {
        __m512i lanes[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
            lanes[i] = (__m512i)x[i];
        transpose_quarters(lanes);
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
            s[i] = (vf)lanes[i];
    } else if (r == 2) {
        s[0] = __builtin_shufflevector(x[0], x[1], VF_EACH(SCORE_LANE, 2));
        s[1] = __builtin_shufflevector(x[0], x[1], VF_EACH(LATER_SCORE_LANE, 2));
    } else {
        s[0] = __builtin_shufflevector(x[0], x[0], VF_EACH(SCORE_LANE, 1));
    }
}

/* Scores of n times GROUP_KEYS keys from k on; returns whether all are finite. */
VF_INLINE bool dots_of_nibble_pairs(const int r, const int n, vf *s, const float *q, struct rows k,
                                    const struct axis *axis, struct cursor *next)
{
    const int sums_each = NIBBLE_SUMS(r, n);
    const ptrdiff_t each = axis->groups.steps, full = axis->full;
    const __mmask16 tail = (__mmask16)((1u << axis->tail) - 1);
    struct cursor cursor = *next; /* in registers */
    __m512i scales[MOST_KEY_GROUPS][NIBBLE_GROUPS], quads[MOST_KEY_GROUPS][4];
    vf sums[MOST_KEY_GROUPS][4], zero = {0};
#pragma GCC unroll 2
    for (int i = 0; i < n; i++) {
        load_transposed(k.data + i * GROUP_KEYS * k.stride, k.stride, full ? 0xffff : tail,
                        quads[i]);
#pragma GCC unroll 4
        for (int h = 0; h < r; h++)
            sums[i][h] = (vf){0};
    }
    q += r * axis->steps * 2 * VF_LANES; /* behind the floats of nibbles.h */
#pragma GCC unroll 1
    for (ptrdiff_t x = 0, group = 0; x < axis->steps; group++) {
        const ptrdiff_t end = x + each < axis->steps ? x + each : axis->steps;
        const ptrdiff_t whole = end < full ? end : full;
        vf sum[MOST_KEY_GROUPS][2][4];
#pragma GCC unroll 2
        for (int i = 0; i < n; i++)
#pragma GCC unroll 4
            for (int h = 0; h < r; h++)
                sum[i][0][h] = sum[i][1][h] = (vf){0};
        if (group % NIBBLE_GROUPS == 0) {
#pragma GCC unroll 2
            for (int i = 0; i < n; i++) {
                load_scales(axis, i * GROUP_KEYS, group, scales[i]);
                transpose_quarters(scales[i]);
            }
        }
#pragma GCC unroll 1
        for (; x < whole; x++, q += r * VF_LANES) {
#pragma GCC unroll 8
            for (int line = 0; line < 4 * n; line++)
                fetch_next(&cursor);
            add_step(r, n, sum, q, quads, k.data + (x + 1 < full ? x + 1 : x) * NIBBLE_STEP,
                     k.stride);
        }
        if (x < end) {
#pragma GCC unroll 2
            for (int i = 0; i < n; i++)
                load_transposed(k.data + i * GROUP_KEYS * k.stride + x * NIBBLE_STEP, k.stride,
                                tail, quads[i]);
#pragma GCC unroll 4
            for (int quad = 0; quad < 4; quad++)
                add_quad(r, n, quad, sum, q, quads);
            x++;
        }
#pragma GCC unroll 2
        for (int i = 0; i < n; i++)
#pragma GCC unroll 4
            for (int h = 0; h < r; h++)
                sums[i][h] = vf_fma(sums_each == 2 ? sum[i][0][h] + sum[i][1][h] : sum[i][0][h],
                                    (vf)scales[i][group % NIBBLE_GROUPS], sums[i][h]);
    }
#pragma GCC unroll 2
    for (int i = 0; i < n; i++) {
#pragma GCC unroll 4
        for (int h = 0; h < r; h++)
            zero = vf_fma(sums[i][h], (vf){0}, zero);
        interleave_rows(r, sums[i], s + i * r);
    }
    *next = cursor;
    return !vi_any((vi)(zero != (vf){0}));
}

typedef void dots_function(vf *s, const float *q, struct rows k, const struct axis *axis,
                           struct cursor *next);

/* Replaces scores that are not finite by those of `exactly`. */
VF_NOINLINE void replace_scores(int r, vf *s, const float *q, struct rows k,
                                const struct axis *axis, dots_function *exactly)
{
    struct axis group = *axis;
    group.groups.two_key_groups = false;
    for (int i = 0; i < (axis->groups.two_key_groups ? 2 : 1); i++) {
        struct cursor none = {0};
        vf exact[4];
        exactly(exact, q, k, &group, &none);
        for (int h = 0; h < r; h++, s++)
            *s = vf_select((vi)(*s * 0 == (vf){0}), *s, exact[h]);
        k.data += GROUP_KEYS * k.stride;
        group.groups.scale += GROUP_KEYS * group.groups.scale_row;
        group.groups.last -= GROUP_KEYS;
    }
}

/* Scores of GROUP_KEYS keys from k on, or of twice as many; `exactly` is the function of nibbles.h. */
VF_INLINE void scores_of_nibble_pairs(const int r, vf *s, const float *q, struct rows k,
                                      const struct axis *axis, struct cursor *next,
                                      dots_function *exactly)
{
    const bool finite = axis->groups.two_key_groups
                            ? dots_of_nibble_pairs(r, 2, s, q, k, axis, next)
                            : dots_of_nibble_pairs(r, 1, s, q, k, axis, next);
    if (!finite)
        replace_scores(r, s, q, k, axis, exactly);
}
