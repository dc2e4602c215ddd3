/*
 * geometry_readings.h: part of kernel split_kv: the fastest way to read rows of K and V, by how many bytes a
 * call reads and how they lie.
 */
#pragma once

#include "geometry.h"

#define BLOCK_BYTES 8192  /* of K in a block: its K, its V, Q and O share 32 KB of L1 */
#define FAR_BYTES 0x14p20 /* of K and V: so many are taken to come from memory */
#define NEAR_BYTES 0x1p23 /* and so few from a cache, in which hardware finds them in time */

/* Bytes of K and V of `batch` sequences. */
static inline double geometry_kv_bytes(const struct geometry *g, const struct attn_problem *p,
                                       size_t batch)
{
    const double rows = (double)batch * (double)p->kv_heads * (double)p->kv_len;
    return rows * (double)(g->qk.bytes + g->v.bytes);
}

/*
 * Fastest of four ways to read rows of K and V, by the bytes that a call reads; all give the same bits.
 * The thresholds were measured on AMD Zen 4, one thread and two, 8 heads of 64 and 128, with calls that
 * alternate between two KV caches (2026-11-25), so that "memory" means more than its L3 holds.
 *
 * One row in bf16, and two rows, read K in the order of memory, and V where all its steps fit the
 * accumulators.  The hardware prefetcher recognises that, and has more lines in flight than software
 * prefetches can: one row 0.77 to 0.82 of the time of four keys abreast with prefetches, two
 * 0.74 to 0.91 from memory, and in f32 from 8 MB on (0.86 to 1.02, where bf16 takes 1.0 to 1.1).
 *
 * On an Intel Xeon with AMX lines that are fetched come faster (ALWAYS_FETCHES; one thread, 8 heads,
 * 2026-11-27): one row in bf16 takes 0.68 to 0.89 of the time of a stream, in f32 0.89 to 0.92 from 8 MB
 * on, two rows in f32 0.74.
 */
static inline bool geometry_streams(const struct geometry *g, const struct attn_problem *p)
{
    const ptrdiff_t rows = (ptrdiff_t)g->unit_rows, n = g->v.steps;
    const ptrdiff_t accumulators = VF_REGISTERS == 32 && rows > 1 ? 16 : 8;
    const double least = g->format == FORMAT_F32 ? NEAR_BYTES : FAR_BYTES;
    return !ALWAYS_FETCHES &&
           (rows == 1 ? g->format == FORMAT_BF16
                      : rows == 2 && (g->format == FORMAT_F32 || FORMAT_BF16_PAIRS(g->format)) &&
                            geometry_kv_bytes(g, p, p->batch) > least) &&
           p->layout == ATTN_BHSD && !(p->options & (ATTN_OPTION_PAGED | ATTN_OPTION_SHARED_KV)) &&
           g->v.tail == 0 && (n & (n - 1)) == 0 &&
           rows * n * FORMAT_VECTORS(g->format) <= accumulators;
}

/* Two rows in a cache read keys abreast, unfetched: a line has two multiply-adds, and five instructions would
 * fetch the next one (without these 0.91 to 0.97 of the time, with four rows 1.0 to 1.1). */
static inline bool geometry_near(const struct geometry *g, const struct attn_problem *p)
{
    return g->unit_rows == 2 && (g->format == FORMAT_F32 || FORMAT_BF16_PAIRS(g->format)) &&
           geometry_kv_bytes(g, p, p->batch) <= NEAR_BYTES;
}

/* From memory keys one after the other, each fetched, are read faster than four abreast (0.80 to 0.93 of the
 * time); in a cache they are not (1.06 to 1.7), nor with rows of two lines (1.03), nor where bf16
 * is widened (1.09). */
static inline bool geometry_apart(const struct geometry *g, const struct attn_problem *p)
{
    return (g->format == FORMAT_F32 || FORMAT_BF16_PAIRS(g->format)) && g->qk.bytes >= 256 &&
           geometry_kv_bytes(g, p, p->batch) > FAR_BYTES;
}

/* Whether the rows of a key's heads are neighbours.  Then a head's own rows may have a page each, and heads
 * one after the other look it up and fetch from it as often as there are heads: abreast they take 0.48 to
 * 0.75 of the time (1 thread, AMD Zen 4, 8 heads of 128 x 16384 keys, 2026-11-25).  Sequences of their
 * own lengths, lists of keys, and weights, are computed head by head. */
static inline bool geometry_neighbours(const struct attn_problem *p)
{
    const unsigned apart =
        ATTN_OPTION_PAGED | ATTN_OPTION_RAGGED | ATTN_OPTION_PACKED | ATTN_OPTION_INDEX;
    return p->layout == ATTN_BSHD && p->kv_heads > 1 && !(p->options & apart) &&
           !(p->outputs & ATTN_OUTPUT_WEIGHTS);
}

/* A row that is a unit's only one and takes its keys as one stream: where lines are always fetched, or the
 * rows of a key's heads are neighbours, from a cache alone (heads abreast take 1.3 times as long with 4 MB,
 * 0.64 to 0.79 from 12 MB on).  A row's bits do not depend on the batch. */
static inline bool geometry_rows_alone(const struct geometry *g, const struct attn_problem *p)
{
    return g->group == 1 && g->format == FORMAT_F32 && !g->natural && !g->looks &&
           !((ALWAYS_FETCHES || geometry_neighbours(p)) && geometry_kv_bytes(g, p, 1) > NEAR_BYTES);
}

/* Two rows of up to 64 floats walk over few keys in blocks of 16 KB: 0.95 to 0.97 of the time in L2, and
 * 0.98 to 1.02 from memory (with 128 floats 0.93 to 0.99, but 1.01 to 1.12). */
static inline size_t geometry_block_bytes(size_t rows, size_t row_bytes, size_t element)
{
    return rows == 2 && element == sizeof(float) && row_bytes <= 256 ? 2 * BLOCK_BYTES
                                                                     : BLOCK_BYTES;
}
