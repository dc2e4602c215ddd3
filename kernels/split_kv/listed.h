/*
 * listed.h: part of kernel split_kv: what rows see of a block, also where a list names its keys.
 *
 * The list takes the place of the sequence: splits and blocks are of its entries.  A unit's rows share a list.
 * Blocks of which every row sees all are read in place, from wherever their rows lie (listed_rows.h).  The
 * others, and all of 4 bits, are copied row by row, while the rows of the next one are fetched, and then
 * computed like any block, of which entries of -1 and masked keys are hidden.  Of 4 bits the scales and zero
 * points of groups are copied, too (axis_of_nibbles()).
 */
#pragma once

#include <assert.h>

#include "unit.h"

/* Which of entries [j, j + n) the row of a view sees. */
static uint64_t listed_bits(const struct unit *u, const struct view *view, ptrdiff_t j, ptrdiff_t n)
{
    const int32_t *list = u->list + j;
    const enum attn_dtype dtype = u->t->bias.dtype;
    const ptrdiff_t element = (ptrdiff_t)attn_dtype_size(dtype);
    const int32_t lo = (int32_t)view->seen.lo, hi = (int32_t)view->seen.hi;
    uint8_t shown[BLOCK_KEYS];
    for (ptrdiff_t i = 0; i < n; i++)
        shown[i] = (uint8_t)((list[i] >= lo) & (list[i] < hi));
    for (ptrdiff_t i = 0; view->mask && i < n; i++)
        shown[i] = shown[i] && view->mask[list[i]];
    for (ptrdiff_t i = 0; view->bias && i < n; i++)
        shown[i] = shown[i] && bits_of_bias(dtype, view->bias + list[i] * element, 1);
    for (ptrdiff_t i = 0; view->tree.parents && i < n; i++)
        shown[i] = shown[i] && attn_tree_sees(&view->tree, view->query, list[i]);
    return bits_of_bytes(shown, n);
}

/* Writes to `bits` what each of the unit's rows sees of [j, j + n), n <= BLOCK_KEYS.  Rows of a query that
 * share mask and bias are neighbours. */
static struct mask_bits unit_bits(const struct unit *u, ptrdiff_t j, ptrdiff_t n, uint64_t *bits)
{
    if (!u->list)
        return bits_look(u->view, u->rows, &u->t->bias, j, n, bits);
    for (int r = 0; r < u->rows; r++) {
        const struct view *view = &u->view[r], *last = view - (r > 0);
        const bool same = r > 0 && view->query == last->query && view->mask == last->mask &&
                          view->bias == last->bias;
        bits[r] = same ? bits[r - 1] : listed_bits(u, view, j, n);
    }
    return bits_of_rows(bits, u->rows);
}

#if !MATRIX_UNIT
/* Addresses of rows [j, j + n), n <= BLOCK_KEYS; where the list names none or ends, one that may be prefetched
 * but not read. */
static void listed_addresses(const struct unit *u, const struct cache *c, ptrdiff_t j, ptrdiff_t n,
                             const char **to)
{
    const ptrdiff_t all = (ptrdiff_t)u->g->listed, end = j + n < all ? n : all - j;
    const struct keys *k = &c->keys;
    const char *const any = (const char *)u->list;
    ptrdiff_t i = 0;
    if (k->problem->options & ATTN_OPTION_PAGED) {
        for (; i < end; i++) {
            const char *row = keys_row(k, c->kv, j + i);
            to[i] = row ? row : any;
        }
    } else {
        const char *const first =
            c->kv->data ? attn_row(c->kv, k->b, k->g, k->sequence.kv_first) : any;
        const ptrdiff_t stride = c->stride;
        for (; i < end; i++)
            to[i] = u->list[j + i] < 0 ? any : first + u->list[j + i] * stride;
    }
    for (; i < n; i++)
        to[i] = any;
}

/* The same of K and V for a block that begins at entry j, always block_keys of them: the block before fetches
 * as many as it has keys. */
static void listed_block(const struct unit *u, ptrdiff_t j, int turn)
{
    const ptrdiff_t n = u->g->block_keys;
    assert(u->list);
    listed_addresses(u, &u->k, j, n, u->listed->k[turn]);
    if (u->g->shared)
        memcpy(u->listed->v[turn], u->listed->k[turn], (size_t)n * sizeof(char *));
    else
        listed_addresses(u, &u->v, j, n, u->listed->v[turn]);
}
#endif
