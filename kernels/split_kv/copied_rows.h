/*
 * copied_rows.h: part of kernel split_kv: copies the rows of a block that do not follow each other in memory.
 */
#pragma once

#include "key_blocks.h"

/* Copies a row of a few lines, for which a call of memcpy() takes longer. */
static inline void copy_row(char *to, const char *from, ptrdiff_t bytes)
{
    ptrdiff_t at = 0;
    for (; at + VF_BYTES <= bytes; at += VF_BYTES)
        memcpy(to + at, from + at, VF_BYTES);
    if (at < bytes)
        memcpy(to + at, from + at, (size_t)(bytes - at));
}

/* Copies the rows of `bytes` bytes that entries [j, j + n) of a list name, zeros where these name none and
 * behind them, up to `total` rows.  Beside each copy the row n entries later is fetched. */
VF_NOINLINE struct rows copy_listed(const struct unit *u, const struct cache *c, ptrdiff_t j,
                                    ptrdiff_t n, ptrdiff_t total, ptrdiff_t bytes, char *copy)
{
    const char *row[BLOCK_KEYS], *later[BLOCK_KEYS];
    char *to = copy;
    listed_addresses(u, c, j, n, row);
    listed_addresses(u, c, j + n, n, later);
    for (ptrdiff_t i = 0; i < n; i++, to += bytes) {
        for (ptrdiff_t at = 0; at < bytes; at += 64)
            __builtin_prefetch(later[i] + at, 0, 3);
        if (u->list[j + i] < 0)
            memset(to, 0, (size_t)bytes);
        else
            copy_row(to, row[i], bytes);
    }
    memset(to, 0, (size_t)((total - n) * bytes));
    return (struct rows){copy, bytes};
}

/* Copies the rows of a block that are not contiguous. */
VF_NOINLINE void copy_rows(const struct unit *u, const struct block *b, struct rows *k,
                           struct rows *v)
{
    const ptrdiff_t n = b->end - b->j, total = (n + GROUP_KEYS - 1) / GROUP_KEYS * GROUP_KEYS;
    const ptrdiff_t k_row = u->g->qk.bytes, v_row = u->g->v.bytes;
    if (u->list)
        *k = copy_listed(u, &u->k, b->j, n, total, k_row, u->k_copy);
    else
        *k = cache_copy(&u->k, b->j, n, total, k_row, k_row, u->k_copy);
    if (u->g->shared)
        *v = *k;
    else if (u->list)
        *v = copy_listed(u, &u->v, b->j, n, n, v_row, u->v_copy);
    else if (u->v.scattered)
        *v = cache_copy(&u->v, b->j, n, n, v_row, v_row, u->v_copy);
}
