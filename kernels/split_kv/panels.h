/*
 * panels.h: part of kernel split_kv: the query rows of a unit against panels of keys, for a matrix unit.
 *
 * A panel is up to four blocks of keys that some row sees.  Each block's scores are computed and its
 * values packed at once; then follow the weights of all rows, tile by tile, and their results. A hidden
 * key has a weight of 0, which a value that is not finite would turn into NaN: such values are packed as
 * 0 and added row by row where they are seen.
 *
 * A unit of up to 16 rows packs nothing (values_in_place.h).  If in the end some result is not finite, the
 * split is computed once more, with care: all values that are not finite count as 0 and are added likewise.
 * Results of rows that were finite keep their bits.
 */
#pragma once

#include "panel_values.h"

#define TOUCH_AHEAD 128 /* how far ahead of a block its pages are looked up */

/* Adds a block, all of which every row sees by its operands if `all` is, to a panel. */
static void add_block(const struct unit *u, struct panel *p, struct block b, struct mask_bits mask)
{
    const int i = p->blocks++, n = (int)(b.end - b.j);
    struct rows k[BLOCK_GROUPS];
    const bool inside = !u->g->looks && b.j >= u->whole.lo && b.end <= u->whole.hi;
    if (!inside && !u->g->looks)
        mask = look_at(u, b.j, n, bits_of_block(u, i));
    const uint64_t hidden = inside ? 0 : bits_first(n) & ~mask.all;
    p->whole[i] = hidden == 0 && n % GROUP_KEYS == 0;
    if (inside && (p->careful || !p->whole[i]))
        look_at(u, b.j, n, bits_of_block(u, i));
    /* (Member by member: copied whole it would wait for what was just stored, 270 cycles a block.) */
    p->block[i].j = b.j;
    p->block[i].end = b.end;
    p->block[i].copied = false;
    p->first[i] = p->strips;
    p->unsafe[i] = 0;
    if (p->careful || !in_place(u))
        p->unsafe[i] = not_finite(u, &b, p->careful ? bits_first(n) : hidden);
    const int groups = key_groups(u, &b, k);
    score_last(u, &b, k, groups, p->first[i]); /* K first: 2 to 5 % less time with 8 rows */
    for (int from = 0; from < n; from += STRIP_KEYS, p->strips++) {
        score_strip(u, k + from / GROUP_KEYS, p->strips);
        if (!in_place(u))
            pack_strip(u, &b, from, p->unsafe[i], p->strips);
    }
}

/* Looks up the pages of keys behind those from j on: of several blocks together where values are not packed
 * (8 rows from memory: 0.94 of the time), else of one (32 rows: 1.06 otherwise). */
static void touch_after(const struct unit *u, struct panel *p, ptrdiff_t j)
{
    const ptrdiff_t keys = in_place(u) ? u->g->touch_keys : BLOCK_KEYS;
    if (j < p->touched || u->list)
        return;
    p->touched = j + keys;
    cache_touch(&u->k, j + TOUCH_AHEAD, keys);
    if (!u->g->shared)
        cache_touch(&u->v, j + TOUCH_AHEAD, keys);
}

/* Collects blocks from key *j on; false where there is none. */
static bool collect(const struct unit *u, struct panel *p, ptrdiff_t *j, ptrdiff_t hi)
{
    p->blocks = p->strips = 0;
    const int room = in_place(u) ? 1 : PANEL_BLOCKS;
    while (p->blocks < room && *j < hi) {
        struct mask_bits mask = {0, 0};
        uint64_t *bits = bits_of_block(u, p->blocks);
        const struct block b = block_from(u, *j, hi, bits, &mask);
        if (b.j >= hi) {
            *j = hi;
            break;
        }
        for (int r = u->rows; u->g->looks && r < row_tiles(u) * TILE_ROWS; r++)
            bits[r] = bits[u->rows - 1];
        touch_after(u, p, b.j);
        add_block(u, p, b, mask);
        *j = b.end;
    }
    return p->blocks > 0;
}

/* Weights of tile i of the unit for a block, and zeros for the keys that its last strip has no more. */
static void weigh_block(const struct unit *u, const struct panel *p, int i, int block)
{
    struct cursor none = {0};
    const struct block *b = &p->block[block];
    struct tile *t = tile_at_strip(u, i, p->first[block]);
    const uint64_t *bits = p->whole[block] ? NULL : bits_of_block(u, block) + i * VF_LANES;
    ptrdiff_t n = (b->end - b->j + GROUP_KEYS - 1) / GROUP_KEYS * GROUP_KEYS;
    if (!bits || bits_of_rows(bits, VF_LANES).any)
        tile_weights(u, t, i * VF_LANES, b, (struct rows){NULL, 0}, bits, &none);
    else
        n = 0;
    const ptrdiff_t strips = (b->end - b->j + STRIP_KEYS - 1) / STRIP_KEYS;
    for (; n < strips * STRIP_KEYS; n++)
        vf_store(t->p + P_AT(t, n), (vf){0});
}

/* Weights of all rows for a panel, as tiles. */
static void weigh_panel(const struct unit *u, const struct panel *p)
{
    for (int tile = 0; tile < row_tiles(u); tile++) {
        const int each = TILE_ROWS / VF_LANES;
        for (int i = tile * each; i < (tile + 1) * each; i++)
            for (int block = 0; block < p->blocks; block++)
                weigh_block(u, p, i, block);
        for (int s = 0; s < p->strips; s++) {
            const float *weights = u->p + tile * SCORES + s * STRIP_KEYS * TILE_ROWS;
            if (in_place(u))
                spread_weights(weights, u->a + s * SPREAD_TILES * TILE_ELEMENTS);
            else
                pack_weights(weights, u->a + tile * WEIGHTS + s * TILE_ELEMENTS);
        }
    }
}

/* O of the only tile += P V of a panel's only block. */
static void add_in_place(const struct unit *u, const struct panel *p, bool add)
{
    const struct block *b = &p->block[0];
    const size_t steps = geometry_products(u->g->v.dim);
    struct rows v[BLOCK_GROUPS];
    const int groups = value_groups(u, b, p->unsafe[0], v);
    struct fetching ahead = fetch_later(u, &u->v, &u->g->v, b->j + V_AHEAD_BLOCKS * BLOCK_KEYS,
                                        BLOCK_KEYS, 2 * steps * (size_t)groups);
    if (u->g->shared)
        ahead.j = ahead.end;
    values_in_place(u->a, v, groups, steps, u->tile[0].o, u->g->o_floats * (ptrdiff_t)sizeof(float),
                    add, &ahead);
}

/* O of all rows += P V; where `add` is false there is none yet. */
static void add_packed(const struct unit *u, const struct panel *p, bool add)
{
    const size_t steps = geometry_products(u->g->v.dim);
    const ptrdiff_t v_step = (ptrdiff_t)steps * 2 * TILE_ELEMENTS;
    const ptrdiff_t row = u->g->o_floats * (ptrdiff_t)sizeof(float);
    const uint16_t *v = (const uint16_t *)u->v_copy;
    float *const o = u->tile[0].o;
    int i = 0;
    for (; i + 1 < row_tiles(u); i += 2)
        values_two(u->a + i * WEIGHTS, v, v_step, p->strips, steps,
                   o + i * TILE_ROWS * u->g->o_floats, row, add);
    if (i < row_tiles(u))
        values_one(u->a + i * WEIGHTS, v, v_step, p->strips, steps,
                   o + i * TILE_ROWS * u->g->o_floats, row, add);
}

static void panels(struct unit *u, struct attn_range keys, bool careful)
{
    ptrdiff_t j = unit_first(u, keys);
    struct panel p = {.careful = careful, .touched = j};
    for (bool add = false; collect(u, &p, &j, keys.hi); add = true) {
        weigh_panel(u, &p);
        if (in_place(u))
            add_in_place(u, &p, add);
        else
            add_packed(u, &p, add);
        for (int block = 0; block < p.blocks; block++)
            if (p.unsafe[block])
                add_unsafe(u, &p, block);
        for (int t = 0; !add && t < u->tiles; t++)
            u->tile[t].o_floats = u->g->o_floats;
    }
}

/* Keys of a split that each unit sees, n units one after the other; what they share comes from L2. */
static void unit_keys(struct unit *u, int n, const struct attn_range *keys)
{
    for (int i = 0; i < n; i++) {
        if (keys[i].lo >= keys[i].hi)
            continue;
        panels(&u[i], keys[i], false);
        if (in_place(&u[i]) && !results_are_finite(&u[i])) {
            start_tiles(&u[i], u[i].tile[0].o);
            panels(&u[i], keys[i], true);
        }
    }
}
