/*
 * listed_scores.h: part of kernel split_kv: scores of keys whose rows lie wherever a list names them, read in
 * place: the sums of scores.h.
 */
#pragma once

#include "scores.h"

typedef const char *const *addresses;

VF_INLINE addresses addresses_of(const char *data)
{
    return (addresses)(const void *)data;
}

/* An address from memory, in a general register: left to itself GCC 12 loads several as a vector, and keeps
 * some there. */
VF_INLINE const char *address_at(addresses rows, ptrdiff_t i)
{
    const char *row = rows[i];
    __asm__("" : "+r"(row));
    return row;
}

/* sum[key][row] += the step of K at byte `at` of its rows times Q; lines of the rows `later` are fetched. */
VF_INLINE void listed_dots_step(const enum format format, const int r, const int abreast, vf *sum,
                                const float *q, const char *const row[], const char *const later[],
                                ptrdiff_t at, int tail)
{
    const int w = FORMAT_K_VECTORS(format);
#pragma GCC unroll 4
    for (int j = 0; j < abreast; j++) {
        vf kv[2];
        load_k(format, tail, row[j] + at, kv);
        __builtin_prefetch(later[j] + at, 0, 3);
#pragma GCC unroll 2
        for (int u = 0; u < w; u++)
#pragma GCC unroll 4
            for (int h = 0; h < r; h++)
                sum[j * r + h] =
                    multiply(format, vf_load(q + (h * w + u) * VF_LANES), kv[u], sum[j * r + h]);
    }
}

/* sum[key][row] = K times Q, for `abreast` keys and r rows. */
VF_INLINE void listed_dots_abreast(const enum format format, const int r, const int abreast,
                                   vf *sum, const float *q, addresses k, ptrdiff_t far,
                                   const struct axis *axis)
{
    const int step = r * FORMAT_K_VECTORS(format) * VF_LANES;
    const addresses next = addresses_of((const char *)k + far);
    const char *row[KEYS_ABREAST], *later[KEYS_ABREAST];
#pragma GCC unroll 4
    for (int j = 0; j < abreast; j++) {
        row[j] = address_at(k, j);
        later[j] = address_at(next, j);
    }
#pragma GCC unroll 16
    for (int i = 0; i < abreast * r; i++)
        sum[i] = (vf){0};
    const ptrdiff_t full = axis->full * FORMAT_STEP(format);
    ptrdiff_t at = 0;
#pragma GCC unroll 1
    for (; at < full; at += FORMAT_STEP(format), q += step) {
        __asm__("" : "+r"(at)); /* one distance for all rows, not a pointer for each */
        listed_dots_step(format, r, abreast, sum, q, row, later, at, 0);
    }
    if (axis->tail)
        listed_dots_step(format, r, abreast, sum, q, row, later, at, axis->tail);
}

/* Scores of GROUP_KEYS keys, in lane key * r + row, of up to four rows. */
VF_INLINE void listed_dots_of_few(const enum format format, const int r, vf *s, const float *q,
                                  addresses k, ptrdiff_t far, const struct axis *axis)
{
    const int keys = DOTS_TOGETHER ? KEYS_ABREAST : VF_LANES / r, vectors = keys * r / VF_LANES;
    const int abreast = keys < KEYS_ABREAST ? keys : KEYS_ABREAST;
#pragma GCC unroll 1
    for (int i = 0; i < GROUP_KEYS; i += keys, k += keys, s += vectors) {
        vf sum[4 * VF_LANES];
#pragma GCC unroll 16
        for (int j = 0; j < keys; j += abreast)
            listed_dots_abreast(format, r, abreast, sum + j * r, q, k + j, far, axis);
#pragma GCC unroll 4
        for (int j = 0; j < vectors; j++)
            s[j] = vf_hsum_each(sum + j * VF_LANES);
    }
}

#if VF_LANES == 2 * LANE_ROWS
/* The same of eight rows. */
VF_INLINE void listed_dots_of_eight(const enum format format, vf *s, const float *q, addresses k,
                                    ptrdiff_t far, const struct axis *axis)
{
    const int w = PIECE_VECTORS(format);
    const ptrdiff_t end = axis->bytes / PIECE_BYTES * PIECE_BYTES;
    const size_t tail = (size_t)(axis->bytes % PIECE_BYTES);
#pragma GCC unroll 1
    for (int i = 0; i < GROUP_KEYS; i += PIECE_KEYS, k += PIECE_KEYS, s += PIECE_KEYS / 2) {
        addresses next = addresses_of((const char *)k + far);
        __asm__("" : "+r"(next));
        const float *piece = q;
        const char *key[PIECE_KEYS];
        vf sum[PIECE_KEYS];
#pragma GCC unroll 8
        for (int j = 0; j < PIECE_KEYS; j++) {
            key[j] = address_at(k, j);
            sum[j] = (vf){0};
        }
#pragma GCC unroll 1
        for (ptrdiff_t at = 0; at < end; at += PIECE_BYTES, piece += w * VF_LANES) {
            piece_step(format, sum, piece,
                       (const char *const[]){key[0] + at, key[1] + at, key[2] + at, key[3] + at,
                                             key[4] + at, key[5] + at, key[6] + at, key[7] + at});
            __builtin_prefetch(next[at / PIECE_BYTES % PIECE_KEYS] + at, 0, 3);
        }
        if (tail) {
            char pieces[PIECE_KEYS][PIECE_BYTES] = {{0}};
            for (int j = 0; j < PIECE_KEYS; j++)
                key[j] = memcpy(pieces[j], key[j] + end, tail);
            piece_step(format, sum, piece, key);
        }
#pragma GCC unroll 4
        for (int j = 0; j < PIECE_KEYS / 2; j++)
            s[j] = add_pieces(sum[2 * j], sum[2 * j + 1]);
    }
}
#endif

VF_INLINE void listed_dots(const enum format format, const int r, vf *s, const float *q,
                           struct rows k, const struct axis *axis, const struct cursor *next)
{
#if VF_LANES == 2 * LANE_ROWS
    if (r == LANE_ROWS) {
        listed_dots_of_eight(format, s, q, addresses_of(k.data), next->far, axis);
        return;
    }
#endif
    listed_dots_of_few(format, r, s, q, addresses_of(k.data), next->far, axis);
}
