/*
 * cache.h: part of kernel split_kv: addresses of a head's keys or values, and their prefetching.
 *
 * Rows follow each other at a stride: all rows of the sequence, or those of a page (shared/keys.h).  Where a
 * list names the keys its entries take their place: row j is that of key list[j], and rows are read or copied
 * from wherever they lie.
 */
#pragma once

#include "shared/keys.h"
#include "shared/pages.h"
#include "split_kv_tile.h"

/* How far ahead of L1 K and V are fetched into L2: usually, and with geometry.far, which takes 0.95 to 0.99 of
 * the time from 8 MB on, with less 1.02; with 8 heads abreast 1.2 to 1.4, and up to 1.08 if another thread has
 * the next split (Intel Xeon with AMX, 2026-11-27). */
#define FETCH_BYTES 8192
#define FETCH_FAR_BYTES 65536

/* K or V of one head of a sequence. */
struct cache {
    struct keys keys;
    const struct attn_tensor *kv;
    bool scattered;            /* rows lie in pages, or a list names them */
    const char *data;          /* row 0, where all rows follow each other */
    ptrdiff_t stride;          /* bytes from row to row */
    const struct cache *after; /* likely to be read when these rows end; NULL: not known */
};

static inline void cache_start(struct cache *c, const struct keys *keys,
                               const struct attn_tensor *kv)
{
    c->keys = *keys;
    c->kv = kv;
    c->scattered = keys->problem->options & ATTN_OPTION_PAGED || keys->list;
    c->data = c->scattered ? NULL : keys_row(keys, kv, 0);
    c->stride = attn_elements_bytes(kv->dtype, kv->stride[2]);
    c->after = NULL;
}

/* From row j on; NULL where a list names none. */
static inline struct rows cache_rows(const struct cache *c, ptrdiff_t j)
{
    if (c->scattered)
        return (struct rows){keys_row(&c->keys, c->kv, j), c->stride};
    return (struct rows){c->data + j * c->stride, c->stride};
}

/* Looks up the pages of rows [j, j + n), which need not exist. */
static void cache_touch(const struct cache *c, ptrdiff_t j, ptrdiff_t n)
{
    if (!c->scattered) {
        pages_touch(cache_rows(c, j).data, c->stride, n);
        return;
    }
    const ptrdiff_t all = (ptrdiff_t)c->keys.sequence.kv_len, end = j + n < all ? j + n : all;
    for (ptrdiff_t run; j < end; j += run) {
        run = keys_run(&c->keys, j, end - j);
        pages_touch(cache_rows(c, j).data, c->stride, run);
    }
}

/* Copies rows [j, j + n), `bytes` each, to rows of `stride` bytes; zeros for those that a list does not have
 * and behind them, up to `total` rows. */
VF_NOINLINE struct rows cache_copy(const struct cache *c, ptrdiff_t j, ptrdiff_t n, ptrdiff_t total,
                                   ptrdiff_t bytes, ptrdiff_t stride, char *to)
{
    keys_copy(&c->keys, c->kv, j, n, bytes, stride, to);
    memset(to + n * stride, 0, (size_t)((total - n) * stride));
    return (struct rows){to, stride};
}

/* Bytes from `at` to row j; behind the last one to a row of what is read after, the first of so many of which n
 * are a block; 0 if there is none. */
static inline ptrdiff_t cache_far(const struct cache *c, const char *at, ptrdiff_t j, ptrdiff_t n)
{
    const ptrdiff_t end = (ptrdiff_t)c->keys.sequence.kv_len;
    if (j < end)
        return cache_rows(c, j).data - at;
    const ptrdiff_t later = (j - end) / n * n;
    return c->after && later < (ptrdiff_t)c->after->keys.sequence.kv_len
               ? cache_rows(c->after, later).data - at
               : 0;
}

/* Each member of a cursor is stored where it is read: GCC 12 would copy a struct by wider loads than it has
 * just been stored by, which wait for the stores, 40 cycles a block of keys on Zen 4. */

/* Fetches rows [j, j + n) of a page as far as they follow each other, and as many that come
 * `later` bytes later or more: a multiple of n, so that they lie in one page as blocks do. */
VF_NOINLINE void cache_fetch_page(struct cursor *next, const struct cache *c,
                                  const struct axis *axis, ptrdiff_t later, ptrdiff_t j,
                                  ptrdiff_t n)
{
    const ptrdiff_t end = (ptrdiff_t)c->keys.sequence.kv_len;
    if (j >= end || n <= 0)
        return;
    const ptrdiff_t block = n * axis->bytes, ahead = j + (later + block - 1) / block * n;
    const char *at = cache_rows(c, j).data;
    next->at = at;
    next->row_end = at + axis->bytes;
    next->bytes = axis->bytes;
    next->stride = c->stride;
    next->far = cache_far(c, at, ahead, n);
    next->rows = (int)keys_run(&c->keys, j, n) - 1;
}

/* Fetches rows [j, j + n) and what comes `later` bytes later, by a cursor that is all 0.  Where all rows follow
 * each other they need not exist. */
static inline void cache_fetch(struct cursor *next, const struct cache *c, const struct axis *axis,
                               ptrdiff_t later, ptrdiff_t j, ptrdiff_t n)
{
    if (c->scattered) {
        cache_fetch_page(next, c, axis, later, j, n);
        return;
    }
    const bool dense = c->stride == axis->bytes; /* one row of all */
    next->at = c->data + j * c->stride;
    next->row_end = next->at + (dense ? n : n > 0) * axis->bytes;
    next->bytes = axis->bytes;
    next->stride = c->stride;
    const ptrdiff_t ahead = (later + axis->bytes - 1) / axis->bytes;
    next->far = c->after ? cache_far(c, next->at, j + ahead, n > 0 ? n : 1) : ahead * c->stride;
    next->rows = dense ? 0 : (int)n - 1;
}
