/*
 * split_kv_eight.h: the scores of eight query rows at once, for split_kv.c.
 *
 * With eight rows the lanes of a vector are the rows, and of each as many neighbouring elements as
 * there is room for: a chunk, in avx512 two elements of float32.  A key's chunk stands in the
 * lanes of all rows, so that a multiply-add works on eight rows, and of a sum only two lanes are
 * left to be added where split_kv_tile.h adds 16.  Against that every multiply-add needs a load;
 * but a broadcast of up to 64 bits is a small load and takes no turn of a floating-point pipe on
 * Zen 4.  One of 128 bits does, so that four rows are not done so (70 % of the multiply-adds of
 * operands in L1 where eight reach 99 %; GCC 12.2, 2026-11-21).  Nor are eight in avx2, whose
 * vectors need twice the loads (0.95 to 1.06 times as fast as two tiles of four), nor in f16, where
 * a conversion stands beside each load (0.86).
 */
#ifndef ATTN_SPLIT_KV_EIGHT_H
#define ATTN_SPLIT_KV_EIGHT_H

#include "split_kv_tile.h"

#if VF_LANES == 2 * EIGHT

#define CHUNK (VF_BYTES / EIGHT)
#define CHUNK_VECTORS(form) ((form) == FORM_BF16 && !FORM_PAIRS(form) ? 2 : 1)

#define EIGHT_KEYS 8 /* sums; the latency of a multiply-add asks for four */

/* The chunks of eight rows, as they are multiplied. */
VF_INLINE void widen_chunks(const enum form form, vi chunks, vf x[2])
{
    if (form == FORM_BF16 && !FORM_PAIRS(form))
        widen_pairs(chunks, x);
    else
        x[0] = (vf)chunks;
}

/* The chunk at p for all rows. */
VF_INLINE void spread_chunk(const enum form form, const char *p, vf x[2])
{
    typedef int64_t words __attribute__((vector_size(VF_BYTES)));
    int64_t chunk;
    memcpy(&chunk, p, sizeof chunk);
    widen_chunks(form, (vi)(chunk - (words){0}), x);
}

/* sum[keys] += a chunk of K times Q. */
VF_INLINE void eight_step(const enum form form, vf *sum, const float *q, const char *const key[])
{
    const int w = CHUNK_VECTORS(form);
    vf qv[2];
#pragma GCC unroll 2
    for (int u = 0; u < w; u++)
        qv[u] = vf_load(q + u * VF_LANES);
#pragma GCC unroll 8
    for (int j = 0; j < EIGHT_KEYS; j++) {
        vf kv[2];
        spread_chunk(form, key[j], kv);
#pragma GCC unroll 2
        for (int u = 0; u < w; u++)
            sum[j] = multiply(form, qv[u], kv[u], sum[j]);
    }
}

/* Scores of two keys from their sums: lane key * EIGHT + row. */
VF_INLINE vf add_chunks(vf a, vf b)
{
    return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28,
                                   30) +
           __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
}

/* Scores of EIGHT_KEYS keys from k on, lane key * EIGHT + row. */
VF_INLINE void eight_keys(const enum form form, vf *s, const float *q, const char *k,
                          ptrdiff_t stride, const struct axis *axis, struct cursor *cursor)
{
    const int w = CHUNK_VECTORS(form);
    const char *fifth = k + 4 * stride, *const end = k + axis->bytes / CHUNK * CHUNK;
    ptrdiff_t third = 3 * stride;
    /* Two pointers and two distances.  Left to itself GCC keeps eight pointers, some of them in
     * vector registers. */
    __asm__("" : "+r"(fifth), "+r"(third));
    vf sum[EIGHT_KEYS];
#pragma GCC unroll 8
    for (int j = 0; j < EIGHT_KEYS; j++)
        sum[j] = (vf){0};
#pragma GCC unroll 1
    for (; k < end; k += CHUNK, fifth += CHUNK, q += w * VF_LANES) {
        eight_step(form, sum, q,
                   (const char *const[]){k, k + stride, k + 2 * stride, k + third, fifth,
                                         fifth + stride, fifth + 2 * stride, fifth + third});
        fetch_next(cursor);
    }
    const size_t tail = (size_t)(axis->bytes % CHUNK);
    if (tail) {
        char chunks[EIGHT_KEYS][CHUNK] = {{0}};
        const char *key[EIGHT_KEYS];
        for (int j = 0; j < EIGHT_KEYS; j++)
            key[j] = memcpy(chunks[j], (j < 4 ? k : fifth) + j % 4 * stride, tail);
        eight_step(form, sum, q, key);
    }
#pragma GCC unroll 8
    for (int j = 0; j < EIGHT_KEYS / 2; j++)
        s[j] = add_chunks(sum[2 * j], sum[2 * j + 1]);
}

/* Scores of GROUP_KEYS keys from k on. */
VF_INLINE void eight_dots(const enum form form, vf *s, const float *q, struct rows k,
                          const struct axis *axis, struct cursor *next)
{
    struct cursor cursor = *next; /* in registers */
#pragma GCC unroll 1
    for (int j = 0; j < GROUP_KEYS; j += EIGHT_KEYS)
        eight_keys(form, s + j * EIGHT / VF_LANES, q, k.data + j * k.stride, k.stride, axis,
                   &cursor);
    *next = cursor;
}

/* Q as eight_dots() reads it from the rows at `row`, 0 past the end of a row. */
VF_INLINE void eight_load_q(const enum form form, float *q, const char *const row[EIGHT],
                            const struct axis *axis)
{
    for (ptrdiff_t at = 0; at < axis->bytes; at += CHUNK) {
        const ptrdiff_t left = axis->bytes - at;
        char chunks[EIGHT][CHUNK] = {{0}};
        for (int h = 0; h < EIGHT; h++)
            memcpy(chunks[h], row[h] + at, (size_t)(left < CHUNK ? left : CHUNK));
        vi all;
        vf x[2];
        memcpy(&all, chunks, sizeof all);
        widen_chunks(form, all, x);
        for (int u = 0; u < CHUNK_VECTORS(form); u++, q += VF_LANES)
            vf_store(q, x[u]);
    }
}

#endif
#endif
