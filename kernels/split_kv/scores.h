/*
 * scores.h: part of kernel split_kv: scores of a tile's rows.
 *
 * For up to four rows no element of K is broadcast.  A step of a key's row is loaded once and
 * multiplied with every row of the tile; sums stay in the lanes until VF_LANES of them, one per
 * (key, row), are reduced together by a transposing tree of additions (vf_hsum_each).  The result
 * is one vector of scores, lane key * rows + row, on which softmax is lane-wise: maximum, shift and
 * sum of a row stand in all lanes of that row.
 *
 * Registers (avx512): 16 sums of 4 keys x 4 rows, 4 vectors of Q, 1 of K.  In neon these are 4 vectors of
 * scores, made together: sums of one alone would wait for each other.
 *
 * With eight rows each row has its own lanes of a vector, which hold as many neighbouring elements
 * as there is room for: a piece, in avx512 two elements of float32.  A key's piece is copied to the
 * lanes of all rows, so that a multiply-add works on eight rows, and of a sum only two lanes are
 * left to be added, not 16.  The price is a load for every multiply-add; but a broadcast of up to
 * 64 bits is a small load and takes no turn of a floating-point pipe on Zen 4.  One of 128 bits
 * does, so four rows are not treated like this (their loop reaches 70 % of the multiply-adds that
 * operands in L1 allow, that of eight 99 %; GCC 12.2, 2026-11-21).  Neither are eight rows in avx2,
 * whose vectors need twice the loads (0.95 to 1.06 times as fast as two tiles of four), nor in f16,
 * where a conversion stands beside each load (0.86).
 */
#pragma once

#include "shared/simd_reduce.h"
#include "split_kv_tile.h"

#define KEYS_ABREAST 4 /* key rows read side by side: more defeat the hardware prefetchers */

/* ---- up to four rows ------------------------------------------------------------------------ */

/* sum[key][row] += one step of K times Q, for `abreast` keys and r rows. */
VF_INLINE void dots_step(const enum format format, const int r, const int abreast, vf *sum,
                         const float *q, const char *k, ptrdiff_t stride, int tail,
                         struct cursor *cursor)
{
    const int w = FORMAT_K_VECTORS(format);
#if VF_REGISTERS == 16
    if (r * w == 8) { /* 8 sums and as many of Q are more than there are: two keys first */
        vf kv[2][2];
#pragma GCC unroll 2
        for (int j = 0; j < abreast; j++) {
            load_k(format, tail, k + j * stride, kv[j]);
            if (FORMAT_FETCHES(format, j))
                fetch_next(cursor);
        }
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++) {
            const vf qi = vf_load(q + (i % r * w + i / r) * VF_LANES);
#pragma GCC unroll 2
            for (int j = 0; j < abreast; j++)
                sum[j * r + i % r] = multiply(format, qi, kv[j][i / r], sum[j * r + i % r]);
        }
        return;
    }
#endif
    vf qv[4 * 2];
#pragma GCC unroll 8
    for (int i = 0; i < r * w; i++)
        qv[i] = vf_load(q + i * VF_LANES);
#pragma GCC unroll 4
    for (int j = 0; j < abreast; j++) {
        vf kv[2];
        load_k(format, tail, k + j * stride, kv);
        if (FORMAT_FETCHES(format, j))
            fetch_next(cursor);
#pragma GCC unroll 2
        for (int u = 0; u < w; u++)
#pragma GCC unroll 4
            for (int h = 0; h < r; h++)
                sum[j * r + h] = multiply(format, qv[h * w + u], kv[u], sum[j * r + h]);
    }
}

#define DOTS_TOGETHER (VF_REGISTERS == 32 && VF_LANES == KEYS_ABREAST)

#if DOTS_TOGETHER
/* Scores of KEYS_ABREAST keys from k on: r vectors. */
VF_INLINE void vectors_of_dots(const enum format format, const int r, vf *s, const float *q,
                               const char *k, ptrdiff_t stride, const struct axis *axis,
                               struct cursor *cursor)
{
    const int step = r * FORMAT_K_VECTORS(format) * VF_LANES;
    vf sum[KEYS_ABREAST * 4];
#pragma GCC unroll 16
    for (int i = 0; i < KEYS_ABREAST * r; i++)
        sum[i] = (vf){0};
#pragma GCC unroll 1
    for (ptrdiff_t x = 0; x < axis->full; x++)
        dots_step(format, r, KEYS_ABREAST, sum, q + x * step, k + x * FORMAT_STEP(format), stride,
                  0, cursor);
    if (axis->tail)
        dots_step(format, r, KEYS_ABREAST, sum, q + axis->full * step,
                  k + axis->full * FORMAT_STEP(format), stride, axis->tail, cursor);
#pragma GCC unroll 4
    for (int i = 0; i < r; i++)
        s[i] = vf_hsum_each(sum + i * VF_LANES);
}
#else
/* Scores of VF_LANES / r keys from k on, of up to `most` at a time. */
VF_INLINE vf vector_of_dots(const enum format format, const int r, const int most, const float *q,
                            const char *k, ptrdiff_t stride, const struct axis *axis,
                            struct cursor *cursor)
{
    const int keys = VF_LANES / r, abreast = keys < most ? keys : most;
    const int step = r * FORMAT_K_VECTORS(format) * VF_LANES;
    vf sum[VF_LANES];
#pragma GCC unroll 16
    for (int i = 0; i < VF_LANES; i++)
        sum[i] = (vf){0};
#pragma GCC unroll 16
    for (int s = 0; s < keys; s += abreast) {
        const char *row = k + s * stride;
#pragma GCC unroll 1
        for (ptrdiff_t x = 0; x < axis->full; x++)
            dots_step(format, r, abreast, sum + s * r, q + x * step, row + x * FORMAT_STEP(format),
                      stride, 0, cursor);
        if (axis->tail)
            dots_step(format, r, abreast, sum + s * r, q + axis->full * step,
                      row + axis->full * FORMAT_STEP(format), stride, axis->tail, cursor);
    }
    return vf_hsum_each(sum);
}
#endif

/* Scores of GROUP_KEYS keys from k on, of up to `most` at a time.  (Together with the exponentials in one
 * function GCC 12 would keep the sums in memory.) */
VF_INLINE void dots(const enum format format, const int r, const int most, vf *s, const float *q,
                    struct rows k, const struct axis *axis, struct cursor *next)
{
    struct cursor cursor = *next; /* in registers */
#if DOTS_TOGETHER
    (void)most;
#pragma GCC unroll 1
    for (int j = 0; j < GROUP_KEYS; j += KEYS_ABREAST, s += r)
        vectors_of_dots(format, r, s, q, k.data + j * k.stride, k.stride, axis, &cursor);
#else
#pragma GCC unroll 1
    for (int i = 0; i < GROUP_KEYS * r / VF_LANES; i++)
        s[i] = vector_of_dots(format, r, most, q, k.data + i * (VF_LANES / r) * k.stride, k.stride,
                              axis, &cursor);
#endif
    *next = cursor;
}

/* ---- eight rows ----------------------------------------------------------------------------- */

#if VF_LANES == 2 * LANE_ROWS

#define PIECE_BYTES (VF_BYTES / LANE_ROWS)
#define PIECE_VECTORS(format) ((format) == FORMAT_BF16 && !FORMAT_PAIRS(format) ? 2 : 1)

#define PIECE_KEYS 8 /* sums; the latency of a multiply-add asks for four */

/* The pieces of eight rows, as they are multiplied. */
VF_INLINE void widen_pieces(const enum format format, vi pieces, vf x[2])
{
    if (format == FORMAT_BF16 && !FORMAT_PAIRS(format))
        widen_pairs(pieces, x);
    else
        x[0] = (vf)pieces;
}

/* The piece at p for all rows. */
VF_INLINE void spread_piece(const enum format format, const char *p, vf x[2])
{
    typedef int64_t words __attribute__((vector_size(VF_BYTES)));
    int64_t piece;
    memcpy(&piece, p, sizeof piece);
    widen_pieces(format, (vi)(piece - (words){0}), x);
}

/* sum[keys] += a piece of K times Q. */
VF_INLINE void piece_step(const enum format format, vf *sum, const float *q,
                          const char *const key[])
{
    const int w = PIECE_VECTORS(format);
    vf qv[2];
#pragma GCC unroll 2
    for (int u = 0; u < w; u++)
        qv[u] = vf_load(q + u * VF_LANES);
#pragma GCC unroll 8
    for (int j = 0; j < PIECE_KEYS; j++) {
        vf kv[2];
        spread_piece(format, key[j], kv);
#pragma GCC unroll 2
        for (int u = 0; u < w; u++)
            sum[j] = multiply(format, qv[u], kv[u], sum[j]);
    }
}

/* Scores of two keys from their sums: lane key * LANE_ROWS + row. */
VF_INLINE vf add_pieces(vf a, vf b)
{
    return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28,
                                   30) +
           __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
}

/* Scores of PIECE_KEYS keys from k on, lane key * LANE_ROWS + row. */
VF_INLINE void dots_of_eight_keys(const enum format format, vf *s, const float *q, const char *k,
                                  ptrdiff_t stride, const struct axis *axis, struct cursor *cursor)
{
    const int w = PIECE_VECTORS(format);
    const char *fifth = k + 4 * stride, *const end = k + axis->bytes / PIECE_BYTES * PIECE_BYTES;
    ptrdiff_t third = 3 * stride;
    /* Two pointers and two distances.  Left to itself GCC keeps eight pointers, some of them in
     * vector registers. */
    __asm__("" : "+r"(fifth), "+r"(third));
    vf sum[PIECE_KEYS];
#pragma GCC unroll 8
    for (int j = 0; j < PIECE_KEYS; j++)
        sum[j] = (vf){0};
#pragma GCC unroll 1
    for (; k < end; k += PIECE_BYTES, fifth += PIECE_BYTES, q += w * VF_LANES) {
        piece_step(format, sum, q,
                   (const char *const[]){k, k + stride, k + 2 * stride, k + third, fifth,
                                         fifth + stride, fifth + 2 * stride, fifth + third});
        fetch_next(cursor);
    }
    const size_t tail = (size_t)(axis->bytes % PIECE_BYTES);
    if (tail) {
        char pieces[PIECE_KEYS][PIECE_BYTES] = {{0}};
        const char *key[PIECE_KEYS];
        for (int j = 0; j < PIECE_KEYS; j++)
            key[j] = memcpy(pieces[j], (j < 4 ? k : fifth) + j % 4 * stride, tail);
        piece_step(format, sum, q, key);
    }
#pragma GCC unroll 8
    for (int j = 0; j < PIECE_KEYS / 2; j++)
        s[j] = add_pieces(sum[2 * j], sum[2 * j + 1]);
}

/* Scores of GROUP_KEYS keys from k on. */
VF_INLINE void dots_of_eight_rows(const enum format format, vf *s, const float *q, struct rows k,
                                  const struct axis *axis, struct cursor *next)
{
    struct cursor cursor = *next; /* in registers */
#pragma GCC unroll 1
    for (int j = 0; j < GROUP_KEYS; j += PIECE_KEYS)
        dots_of_eight_keys(format, s + j * LANE_ROWS / VF_LANES, q, k.data + j * k.stride, k.stride,
                           axis, &cursor);
    *next = cursor;
}

/* Q as dots_of_eight_rows() reads it from the rows at `row`, 0 past the end of a row.  Pieces meet in
 * registers: a vector loaded from where eight of them were just stored would wait for the stores (3 % of a
 * call of eight rows and 1024 keys on Zen 4, 2026-11-30). */
VF_INLINE void load_q_pieces(const enum format format, float *q, const char *const row[LANE_ROWS],
                             const struct axis *axis)
{
    typedef uint64_t pieces __attribute__((vector_size(VF_BYTES)));
    static_assert(PIECE_BYTES == sizeof(uint64_t), "a lane of pieces is a piece");
    for (ptrdiff_t at = 0; at < axis->bytes; at += PIECE_BYTES) {
        const ptrdiff_t left = axis->bytes - at;
        uint64_t piece[LANE_ROWS] = {0};
#pragma GCC unroll 8
        for (int h = 0; h < LANE_ROWS; h++)
            if (left >= PIECE_BYTES)
                memcpy(&piece[h], row[h] + at, PIECE_BYTES);
            else
                memcpy(&piece[h], row[h] + at, (size_t)left);
        const pieces all = {piece[0], piece[1], piece[2], piece[3],
                            piece[4], piece[5], piece[6], piece[7]};
        vf x[2];
        widen_pieces(format, (vi)all, x);
        for (int u = 0; u < PIECE_VECTORS(format); u++, q += VF_LANES)
            vf_store(q, x[u]);
    }
}

#endif
