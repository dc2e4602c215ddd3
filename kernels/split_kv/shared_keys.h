/*
 * shared_keys.h: part of kernel split_kv: keys in pages of several units, seen by the rows of all of them at
 * once.
 *
 * Units whose sequences begin with the same pages are taken abreast (schedule.h).  Where all their rows see
 * all of a split's first keys, nothing is added to scores, and the rows of a unit fill tiles of one height,
 * the rows are gathered in tiles of lanes (row_lanes.h), which see these keys pass by pass; then each unit
 * gets its state, as if its own tiles had seen them, and goes on by itself.
 */
#pragma once

#include "lanes_of_units.h"
#include "row_lanes_scores.h"

#define LANES_TILES (UNIT_ROWS / LANES_TILE) /* of a task */

/* Rows in a vector, alone in its tile or the second one, with fewer of which units are faster by themselves
 * (heads of 128, prefix of 4096, one thread of a Zen 4, 2026-11-30: 12 rows alone take 1.18 of the time, 16
 * rows 0.91, 128 rows 0.82). */
#define LANES_LEAST_ALONE 15
#define LANES_LEAST_SECOND 11

/* Keys of a pass: rows of K of each group, the first key of its block, and interleaved values. */
struct lanes_pass {
    int keys;
    struct rows k[LANES_KEYS / GROUP_KEYS];
    struct rows next[LANES_KEYS / GROUP_KEYS][2]; /* of K and V: as many keys, which follow */
    int block[LANES_KEYS / GROUP_KEYS];
    char *v;
};

/* ---- which rows and keys -------------------------------------------------------------------- */

/* The first of the units, as many as fill vectors well enough. */
static struct lanes_rows lanes_of_units(struct unit *u, int n)
{
    struct lanes_rows all = {u, n, u->rows, u->g->tile_rows};
    while (all.height > all.rows)
        all.height /= 2;
    for (; all.n > 0; all.n--) {
        const int over = all.n * all.rows % LANES_TILE, last = over % VF_LANES;
        if (last == 0 || last >= (over > VF_LANES ? LANES_LEAST_SECOND : LANES_LEAST_ALONE))
            break;
    }
    return all;
}

/* Keys in pages of all units. */
static ptrdiff_t lanes_shared(const struct lanes_rows *all)
{
    ptrdiff_t shared = all->u[1].shared;
    for (int i = 2; i < all->n; i++)
        shared = all->u[i].shared < shared ? all->u[i].shared : shared;
    return shared;
}

/* The first key that some row of the units does not see, or that is not shared; keys->lo where tiles of lanes
 * cannot take any. */
static ptrdiff_t lanes_end(const struct lanes_rows *all, const struct attn_range *keys,
                           ptrdiff_t shared)
{
    const struct unit *u = all->u;
    const ptrdiff_t lo = keys->lo;
    ptrdiff_t end = shared;
    if (u->scaling.natural || lo % GROUP_KEYS || all->rows % all->height ||
        u->block.problem->page_size % GROUP_KEYS)
        return lo;
    for (int i = 0; i < all->n; i++) {
        if (keys[i].lo != lo || u[i].whole.lo > lo || u[i].rows != all->rows)
            return lo;
        end = keys[i].hi < end ? keys[i].hi : end;
        end = u[i].whole.hi < end ? u[i].whole.hi : end;
    }
    return end;
}

/* ---- passes --------------------------------------------------------------------------------- */

/* Interleaves the values of GROUP_KEYS keys, the first being `key` of the pass. */
static void interleave(const struct geometry *g, struct rows v, int key, char *to)
{
    to += key / 2 * VF_BYTES;
    for (int i = 0; i < GROUP_KEYS; i += 2, v.data += 2 * v.stride, to += VF_BYTES)
        for (ptrdiff_t x = 0; x < g->v.steps; x++) {
            vi both[4];
            for (int u = 0; u < 2; u++) /* lines that stores, which are in order, would wait for */
                __builtin_prefetch(to + (2 * x + u) * LANES_PANEL + 4 * VF_BYTES, 1, 3);
            const char *row = v.data + x * VF_BYTES;
            join_values(FORMAT_BF16, load_v(0, row), load_v(0, row + v.stride), both);
            memcpy(to + 2 * x * LANES_PANEL, &both[0], sizeof both[0]);
            memcpy(to + (2 * x + 1) * LANES_PANEL, &both[1], sizeof both[1]);
        }
}

/* The keys from j on, in whole blocks of a unit whose keys end at `hi`, up to `end`; those up to `shared` will
 * follow. */
VF_NOINLINE void start_pass(struct lanes_pass *pass, const struct unit *u, ptrdiff_t j,
                            ptrdiff_t end, ptrdiff_t hi, ptrdiff_t shared)
{
    const ptrdiff_t first = j;
    struct block b;
    for (pass->keys = 0; j < end; j = b.end) {
        b = block_at(u, j, hi);
        if (b.copied || b.end > end || b.end - first > LANES_KEYS)
            break;
        for (ptrdiff_t key = j; key < b.end; key += GROUP_KEYS) {
            const int at = (int)(key - first);
            pass->k[at / GROUP_KEYS] = cache_rows(&u->k, key);
            pass->block[at / GROUP_KEYS] = (int)(j - first);
            interleave(u->g, cache_rows(&u->v, key), at, pass->v);
        }
        pass->keys = (int)(b.end - first);
    }
    for (int at = 0; at < pass->keys; at += GROUP_KEYS) {
        struct rows *next = pass->next[at / GROUP_KEYS];
        const ptrdiff_t key = first + pass->keys + at;
        next[0] = key < shared ? cache_rows(&u->k, key) : (struct rows){0};
        next[1] = key < shared ? cache_rows(&u->v, key) : (struct rows){0};
    }
}

/* Lets the rows of tile i of n see the keys of a pass. */
static void lanes_see(struct lanes *t, int i, int n, const struct geometry *g,
                      const struct lanes_pass *pass)
{
    const int calls = GROUP_KEYS / (LANES_SUMS / t->cols);
    struct lanes_group group = {.t = t,
                                .steps = g->qk.bytes / (ptrdiff_t)sizeof(float) /
                                         (t->pieces ? 2 : VF_LANES),
                                .bytes = {g->qk.bytes, g->v.bytes},
                                .fetched = i * calls,
                                .each = (GROUP_KEYS - 1) / (n * calls) + 1};
    t->added = 0;
    t->block = -1;
    for (int key = 0; key < pass->keys; key += GROUP_KEYS) {
        group.key = key;
        group.k = pass->k[key / GROUP_KEYS];
        group.weigh = key > 0;
        group.following = (struct rows){0};
        if (key + GROUP_KEYS < pass->keys)
            group.following = pass->k[key / GROUP_KEYS + 1];
        memcpy(group.next, pass->next[key / GROUP_KEYS], sizeof group.next);
        score_lanes(&group);
        vi over = {0};
        for (int c = 0; c < t->cols; c++)
            over |= (vi)(group.top[c] > t->limit[c]);
        if (vi_any(over))
            raise_lanes(t, group.top, pass->block[key / GROUP_KEYS], key, pass->v, g->o_floats);
    }
    weigh_group(t, pass->keys - GROUP_KEYS);
    add_lanes(t, pass->v, g->o_floats, pass->keys);
}

/* ---- all ------------------------------------------------------------------------------------ */

/* Starts the tiles of the first of n units, whose parts are `step` bytes apart, and lets their rows see the
 * keys of a split that lie in pages of all of them, as far as tiles of lanes can; keys: what each has to see
 * then.  Returns how many units these are. */
static int see_shared_keys(struct unit *u, int n, struct attn_range *keys, char *scratch,
                           char *part, size_t step)
{
    const struct lanes_rows all = lanes_of_units(u, n);
    if (all.n < 2)
        return 0;
    const ptrdiff_t shared = lanes_shared(&all), end = lanes_end(&all, keys, shared);
    struct lanes tile[LANES_TILES];
    struct lanes_pass pass = {.v = scratch + u->g->lanes[LANES_V]};
    ptrdiff_t j = keys->lo;
    start_pass(&pass, u, j, end, keys->hi, shared);
    if (!pass.keys) /* `end` may lie within the first block */
        return 0;
    for (int i = 0; i < all.n; i++)
        cut_tiles(&u[i], (float *)(part + (size_t)i * step));
    const int tiles = start_lanes(&all, tile, scratch);
    while (pass.keys) {
        for (int i = 0; i < tiles; i++)
            lanes_see(&tile[i], i, tiles, u->g, &pass);
        j += pass.keys;
        start_pass(&pass, u, j, end, keys->hi, shared);
    }
    for (int i = 0; i < tiles; i++)
        leave_lanes(&all, &tile[i], i * LANES_TILE);
    for (int i = 0; i < all.n; i++) {
        keys[i].lo = j;
        if (j < keys[i].hi)
            load_tiles(&u[i]);
    }
    return all.n;
}
