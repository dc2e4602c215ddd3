/*
 * unit.h: part of kernel split_kv: the query rows of a unit against a block of keys.
 *
 * Every row of a unit meets a block while it is in L1.  While K of a block is multiplied its V is
 * fetched, and while V is, the next block's K; the pages of both are looked up some blocks before,
 * many together (pages.h).  Blocks that a mask cuts are the few at the ends of a row's interval:
 * they may be slow, but no masked key may have an effect.
 */
#ifndef ATTN_SPLIT_KV_UNIT_H
#define ATTN_SPLIT_KV_UNIT_H

#include "geometry.h"
#include "shared/pages.h"
#include "shared/softmax.h"

#define FETCH_BYTES 8192 /* how far ahead of L1 K and V are fetched into L2 */

/* A unit at work in one thread, within one split. */
struct unit {
    const struct geometry *g;
    const struct attn_tensors *t;
    struct group_block block; /* its rows */
    int rows, tiles;
    struct rows k, v;
    float *q, *p;
    int32_t *hidden; /* of a tile in a block that a mask cuts */
    char *k_copy;    /* such a block's K, zero where no row of the tile sees it */
    struct tile *tile;
    struct attn_range *seen; /* per row, within the split */
    struct attn_range all;   /* what every row sees */
};

static struct unit unit_of(const struct geometry *g, const struct attn_problem *problem,
                           const struct attn_tensors *t, size_t index, char *scratch)
{
    const size_t pair = index / g->units_per_head;
    const size_t b = pair / problem->kv_heads, head = pair % problem->kv_heads;
    const ptrdiff_t element = (ptrdiff_t)attn_dtype_size(problem->dtype);
    struct unit u = {.g = g, .t = t};
    u.block = group_block_at(problem, b, head, index % g->units_per_head, UNIT_ROWS);
    u.rows = (int)u.block.rows;
    u.k = (struct rows){attn_row(&t->k, b, head, 0), t->k.stride[2] * element};
    u.v = (struct rows){attn_row(&t->v, b, head, 0), t->v.stride[2] * element};
    u.q = (float *)scratch;
    u.p = (float *)(scratch += g->q_bytes);
    u.hidden = (int32_t *)(scratch += g->p_bytes);
    u.k_copy = scratch += g->hidden_bytes;
    u.tile = (struct tile *)(scratch += g->k_bytes);
    u.seen = (struct attn_range *)(scratch + g->tiles_bytes);
    return u;
}

/* Address of the unit's row r in Q, O or LSE. */
static void *unit_row(const struct unit *u, const struct attn_tensor *t, int r)
{
    return attn_row(t, u->block.b, group_head(&u->block, (size_t)r),
                    group_query(&u->block, (size_t)r));
}

/* Rows of Q in the order of struct tile, 0 past the end of a row. */
static void load_q(const struct unit *u, int row, int rows, float *q)
{
    const struct geometry *g = u->g;
    const int w = FORMAT_K_VECTORS(g->format);
#if VF_LANES == 2 * LANE_ROWS
    if (rows == LANE_ROWS) {
        const char *from[LANE_ROWS];
        for (int h = 0; h < LANE_ROWS; h++)
            from[h] = unit_row(u, &u->t->q, row + h);
        load_q_pieces(g->format, q, from, &g->qk);
        return;
    }
#endif
    for (int h = 0; h < rows; h++) {
        const char *from = unit_row(u, &u->t->q, row + h);
        for (ptrdiff_t x = 0; x < g->qk.steps; x++) {
            vf step[2];
            load_k(g->format, x < g->qk.full ? 0 : g->qk.tail, from + x * VF_BYTES, step);
            for (int i = 0; i < w; i++)
                vf_store(q + ((x * rows + h) * w + i) * VF_LANES, step[i]);
        }
    }
}

/* Cuts the rows into tiles of 8, 8, .. 4, 2, 1 that have seen no key yet.  Their O is that of the
 * part. */
static void start_tiles(struct unit *u, float *o)
{
    const struct geometry *g = u->g;
    memset(o, 0, (size_t)(u->rows * g->o_floats) * sizeof(float));
    u->tiles = 0;
    for (int row = 0; row < u->rows; row += u->tile[u->tiles++].rows) {
        int rows = g->tile_rows;
        while (rows > u->rows - row)
            rows /= 2;
        struct tile *t = &u->tile[u->tiles];
        *t = (struct tile){.rows = rows,
                           .q = u->q + row * g->q_floats,
                           .scale = softmax_scale(u->block.problem),
                           .p = u->p + row * g->block_keys,
                           .o = o + row * g->o_floats,
                           .o_floats = g->o_floats};
        for (int lane = 0; lane < VF_LANES; lane++)
            t->limit[lane] = -INFINITY;
        load_q(u, row, rows, u->q + row * g->q_floats);
    }
}

static struct rows rows_from(struct rows rows, ptrdiff_t j)
{
    return (struct rows){rows.data + j * rows.stride, rows.stride};
}

/* Looks up the pages of the n rows that come n after row j: what is read when these are done. */
static void touch_ahead(struct rows rows, ptrdiff_t j, ptrdiff_t n)
{
    pages_touch(rows_from(rows, j + n).data, rows.stride, n);
}

/* P of keys [0, keys) of k, keys a multiple of GROUP_KEYS; hidden as for exponentials(). */
static void weights(const struct unit *u, struct tile *t, struct rows k, int keys,
                    const int32_t *hidden, struct cursor *next)
{
    const struct arithmetic *arithmetic = arithmetic_of(u->g->format, t->rows);
    const int n = GROUP_KEYS * t->rows / VF_LANES;
    for (int j = 0; j < keys; j += GROUP_KEYS) {
        vf s[GROUP_KEYS * TILE_ROWS / VF_LANES];
        arithmetic->dots(s, t->q, rows_from(k, j), &u->g->qk, next);
        exponentials(t, s, n, j * t->rows, hidden);
    }
#ifdef __AVX512BF16__
    pair_weights(t, keys);
#endif
}

/* ---- blocks of keys -------------------------------------------------------------------------- */

/* Fetches rows [j, j + n) of K or V, and what lies FETCH_BYTES behind them. */
static struct cursor cursor_of(struct rows rows, const struct axis *axis, ptrdiff_t j, int n)
{
    const ptrdiff_t far = (FETCH_BYTES + axis->bytes - 1) / axis->bytes * rows.stride;
    const char *at = rows.data + j * rows.stride;
    return (struct cursor){at, at + axis->bytes, axis->bytes, rows.stride, far, n};
}

/* What rows [row, row + n) see of keys [j, end): all of them, and any of them. */
struct sight {
    struct attn_range all, any;
};

static struct sight sight_of(const struct unit *u, int row, int n, ptrdiff_t j, ptrdiff_t end)
{
    struct sight s = {.all = {j, end}, .any = {end, j}};
    for (int h = 0; h < n; h++) {
        const struct attn_range r = u->seen[row + h];
        const ptrdiff_t lo = r.lo > j ? r.lo : j, hi = r.hi < end ? r.hi : end;
        s.all.lo = lo > s.all.lo ? lo : s.all.lo;
        s.all.hi = hi < s.all.hi ? hi : s.all.hi;
        if (lo < hi) {
            s.any.lo = lo < s.any.lo ? lo : s.any.lo;
            s.any.hi = hi > s.any.hi ? hi : s.any.hi;
        }
    }
    return s;
}

/* Scores of a block that some row does not see whole: keys that no row of the tile sees are
 * replaced by zeros, for they may not exist; the scores that a row does not see are hidden. */
static void weights_cut(const struct unit *u, struct tile *t, int row, ptrdiff_t j, struct sight s)
{
    const struct geometry *g = u->g;
    const size_t bytes = (size_t)g->qk.bytes;
    const int keys = (int)(s.any.hi - j + GROUP_KEYS - 1) / GROUP_KEYS * GROUP_KEYS;
    memset(u->k_copy, 0, (size_t)keys * bytes);
    for (ptrdiff_t key = s.any.lo; key < s.any.hi; key++)
        memcpy(u->k_copy + (size_t)(key - j) * bytes, u->k.data + key * u->k.stride, bytes);
    for (int key = 0; key < keys; key++)
        for (int h = 0; h < t->rows; h++) {
            const struct attn_range r = u->seen[row + h];
            u->hidden[key * t->rows + h] = j + key >= r.lo && j + key < r.hi ? 0 : -1;
        }
    struct cursor none = {0};
    const struct rows copy = {u->k_copy, (ptrdiff_t)bytes};
    weights(u, t, copy, keys, u->hidden, &none);
}

/* O += P V of such a block.  A weight of 0 does not keep out a NaN, so each row reads only the
 * values that it sees. */
static void values_cut(const struct unit *u, struct tile *t, int row, ptrdiff_t j, ptrdiff_t end)
{
    struct cursor none = {0};
    for (int h = 0; h < t->rows; h++) {
        const struct attn_range r = sight_of(u, row + h, 1, j, end).all;
        if (r.lo < r.hi)
            arithmetic_of(u->g->format, 1)
                ->values(t, h, (int)(r.lo - j), (int)(r.hi - j), rows_from(u->v, j), &u->g->v,
                         &none);
    }
}

/* Keys [j, end) of which every row sees all. */
static void block_whole(const struct unit *u, ptrdiff_t j, ptrdiff_t end, struct cursor *next_v,
                        struct cursor *next_k)
{
    const struct rows k = rows_from(u->k, j), v = rows_from(u->v, j);
    for (int i = 0; i < u->tiles; i++)
        weights(u, &u->tile[i], k, (int)(end - j), NULL, next_v);
    for (int i = 0; i < u->tiles; i++) {
        const struct tile *t = &u->tile[i];
        arithmetic_of(u->g->format, t->rows)->values(t, 0, 0, (int)(end - j), v, &u->g->v, next_k);
    }
}

/* Keys [j, end) that some rows see in part, or of which there are fewer than in a block. */
static void block_cut(const struct unit *u, ptrdiff_t j, ptrdiff_t end, struct cursor *next_v,
                      struct cursor *next_k)
{
    const int keys = (int)(end - j);
    for (int i = 0, row = 0; i < u->tiles; row += u->tile[i++].rows) {
        struct tile *t = &u->tile[i];
        const struct sight s = sight_of(u, row, t->rows, j, end);
        if (s.all.lo == j && s.all.hi == end && keys == u->g->block_keys)
            weights(u, t, rows_from(u->k, j), keys, NULL, next_v);
        else if (s.any.lo < s.any.hi)
            weights_cut(u, t, row, j, s);
    }
    for (int i = 0, row = 0; i < u->tiles; row += u->tile[i++].rows) {
        struct tile *t = &u->tile[i];
        const struct sight s = sight_of(u, row, t->rows, j, end);
        if (s.all.lo == s.any.lo && s.all.hi == s.any.hi && s.all.lo < s.all.hi)
            arithmetic_of(u->g->format, t->rows)
                ->values(t, 0, (int)(s.all.lo - j), (int)(s.all.hi - j), rows_from(u->v, j),
                         &u->g->v, next_k);
        else if (s.any.lo < s.any.hi)
            values_cut(u, t, row, j, end);
    }
}

/* Keys [j, end) against all rows of the unit. */
static void unit_block(const struct unit *u, ptrdiff_t j, ptrdiff_t end)
{
    const struct geometry *g = u->g;
    struct cursor next_v = cursor_of(u->v, &g->v, j, (int)(end - j));
    struct cursor next_k = cursor_of(u->k, &g->qk, end, (int)g->block_keys);
    if (j >= u->all.lo && end <= u->all.hi && end - j == g->block_keys)
        block_whole(u, j, end, &next_v, &next_k);
    else
        block_cut(u, j, end, &next_v, &next_k);
}

/* Keys [keys.lo, keys.hi) of a split. */
static void unit_keys(const struct unit *u, struct attn_range keys)
{
    const struct geometry *g = u->g;
    for (ptrdiff_t j = keys.lo; j < keys.hi; j += g->block_keys) {
        if ((j - keys.lo) % g->touch_keys == 0) {
            touch_ahead(u->k, j, g->touch_keys);
            touch_ahead(u->v, j, g->touch_keys);
        }
        unit_block(u, j, j + g->block_keys < keys.hi ? j + g->block_keys : keys.hi);
    }
}

#endif
