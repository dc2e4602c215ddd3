/*
 * listed.h: part of kernel split_kv: keys that a list names.
 *
 * The list takes the place of the sequence: splits and blocks are of its entries.  K and V of a block are
 * copied, row by row from wherever they lie, while those of the next one are fetched, and are then computed
 * like any block, of which entries of -1 and masked keys are hidden.  A unit's rows share a list.  Of 4 bits
 * the scales and zero points of groups are copied, too (nibbles_of_block()).
 */
#ifndef ATTN_SPLIT_KV_LISTED_H
#define ATTN_SPLIT_KV_LISTED_H

#include "unit_blocks.h"

/* The block that begins at entry j < hi. */
static struct block listed_block(const struct unit *u, ptrdiff_t j, ptrdiff_t hi)
{
    const ptrdiff_t each = u->g->block_keys;
    return (struct block){j, hi - j < each ? hi : j + each, true};
}

/* Which of entries [j, j + n) the row of a view sees. */
static uint64_t listed_bits(const struct unit *u, const struct view *view, ptrdiff_t j, ptrdiff_t n)
{
    const int32_t *list = u->list + j;
    const enum attn_dtype dtype = u->t->bias.dtype;
    const ptrdiff_t element = (ptrdiff_t)attn_dtype_size(dtype);
    const int32_t lo = (int32_t)view->seen.lo, hi = (int32_t)view->seen.hi;
    unsigned char shown[BLOCK_KEYS];
    for (ptrdiff_t i = 0; i < n; i++)
        shown[i] = (unsigned char)((list[i] >= lo) & (list[i] < hi));
    for (ptrdiff_t i = 0; view->mask && i < n; i++)
        shown[i] = shown[i] && view->mask[list[i]];
    for (ptrdiff_t i = 0; view->bias && i < n; i++)
        shown[i] = shown[i] && bits_of_bias(dtype, view->bias + list[i] * element, 1);
    for (ptrdiff_t i = 0; view->tree.parents && i < n; i++)
        shown[i] = shown[i] && attn_tree_sees(&view->tree, view->query, list[i]);
    return bits_of_bytes(shown, n);
}

/* The same for all rows; rows of a query that share mask and bias are neighbours. */
static struct mask_bits listed_look(const struct unit *u, const struct block *b)
{
    for (int r = 0; r < u->rows; r++) {
        const struct view *view = &u->view[r], *last = view - (r > 0);
        const bool same = r > 0 && view->query == last->query && view->mask == last->mask &&
                          view->bias == last->bias;
        u->bits[r] = same ? u->bits[r - 1] : listed_bits(u, view, b->j, b->end - b->j);
    }
    return bits_of_rows(u->bits, u->rows);
}

/* Fetches a row of the block after next. */
static inline void listed_fetch(const struct unit *u, const struct cache *c, ptrdiff_t j,
                                ptrdiff_t bytes)
{
    if (j >= (ptrdiff_t)u->g->listed || u->list[j] < 0)
        return;
    const char *row = cache_rows(c, u->list[j]).data;
    for (ptrdiff_t at = 0; at < bytes; at += 64)
        __builtin_prefetch(row + at, 0, 3);
}

/* Copies K or V of a block, zeros for -1 and behind it, up to `total` rows. */
VF_NOINLINE struct rows listed_copy(const struct unit *u, const struct cache *c,
                                    const struct block *b, ptrdiff_t total, ptrdiff_t bytes,
                                    char *to)
{
    const ptrdiff_t n = b->end - b->j;
    for (ptrdiff_t i = 0; i < total; i++) {
        const ptrdiff_t key = i < n ? u->list[b->j + i] : -1;
        listed_fetch(u, c, b->end + i, bytes);
        if (key < 0)
            memset(to + i * bytes, 0, (size_t)bytes);
        else
            memcpy(to + i * bytes, cache_rows(c, key).data, (size_t)bytes);
    }
    return (struct rows){to, bytes};
}

static struct rows listed_k(const struct unit *u, const struct block *b)
{
    const ptrdiff_t n = b->end - b->j, total = (n + GROUP_KEYS - 1) / GROUP_KEYS * GROUP_KEYS;
    return listed_copy(u, &u->k, b, total, u->g->qk.bytes, u->k_copy);
}

/* Entries [keys.lo, keys.hi) of the list, block by block. */
static void unit_listed(const struct unit *u, struct attn_range keys)
{
    struct block b;
    struct cursor none = {0};
    for (ptrdiff_t j = keys.lo; j < keys.hi; j = b.end) {
        b = listed_block(u, j, keys.hi);
        const ptrdiff_t n = b.end - b.j;
        const struct mask_bits seen = listed_look(u, &b);
        if (!seen.any)
            continue;
        const struct rows k = listed_k(u, &b);
        const struct rows v =
            u->g->shared ? k : listed_copy(u, &u->v, &b, n, u->g->v.bytes, u->v_copy);
        if (seen.all == bits_first(n) && n % GROUP_KEYS == 0)
            block_whole(u, &b, k, v, &none, &none);
        else
            block_cut(u, &b, k, v, &none, &none);
    }
}

#endif
