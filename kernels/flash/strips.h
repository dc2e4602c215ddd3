/*
 * strips.h: part of kernel flash: which rows of a block the columns of a tile see under positional masks.
 *
 * A positional mask leaves each query an interval of keys, so a tile's columns see strips of a block: one that
 * all columns see, and strips before and behind it that some see.  What no column sees is not computed.
 * Within a strip only rows that not all of its queries see need a mask: nearly always none.
 */
#pragma once

#include "products.h"

static struct attn_range intersect(struct attn_range a, struct attn_range b)
{
    const struct attn_range r = {a.lo > b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi};
    return r.lo < r.hi ? r : (struct attn_range){b.lo, b.lo};
}

/* The range grown to whole pairs of keys within the block; the keys that it gains are masked. */
static struct attn_range whole_pairs(const struct block *block, struct attn_range keys)
{
    const ptrdiff_t end = block->first + block->keys;
    if (keys.lo == keys.hi)
        return keys;
    keys.lo -= (keys.lo - block->first) % PAIR;
    keys.hi += -(keys.hi - block->first) & (PAIR - 1);
    keys.hi = keys.hi < end ? keys.hi : end;
    return keys;
}

/* Keys [lo, hi), which these columns alone see, as a strip. */
static struct strip strip_of(const struct block *block, const struct tile *t, int col, int cols,
                             struct attn_range keys)
{
    struct attn_range all = keys;
    for (int c = col; c < col + cols; c++)
        all = intersect(t->column[c].full, all);
    all = intersect(all, keys);
    return (struct strip){
        .col = col,
        .cols = cols,
        .from = (int)(keys.lo - block->first),
        .to = (int)(keys.hi - block->first),
        .full_from = (int)(all.lo - block->first),
        .full_to = (int)(all.hi - block->first),
    };
}

/* Splits the block's rows by the columns that see them, in order; returns the number of strips.  Columns
 * that see a key are neighbours, because later queries see intervals that neither begin nor end
 * earlier. */
static int split(const struct block *block, const struct tile *t, struct strip strips[FLASH_STRIPS])
{
    const struct attn_range keys = {block->first, block->first + block->keys};
    struct attn_range seen[FLASH_COLS];
    for (int c = 0; c < FLASH_COLS; c++)
        seen[c] = whole_pairs(block, intersect(t->column[c].seen, keys));
    int n = 0;
    for (struct attn_range part = keys; part.lo < keys.hi; part.lo = part.hi) {
        int col = 0, cols = 0;
        part.hi = keys.hi;
        for (int c = FLASH_COLS - 1; c >= 0; c--) {
            const bool sees = seen[c].lo <= part.lo && part.lo < seen[c].hi;
            const ptrdiff_t edge = sees ? seen[c].hi : seen[c].lo;
            if (edge > part.lo && edge < part.hi)
                part.hi = edge;
            if (sees) {
                col = c;
                cols++;
            }
        }
        if (cols)
            strips[n++] = strip_of(block, t, col, cols, part);
    }
    return n;
}

/* ---- what lanes see by their place ----------------------------------------------------------- */

/* Notes which keys each lane sees by its place; lanes without a query see all. */
static void find_visible(struct tile *t)
{
    for (int lane = 0; lane < FLASH_TILE; lane++) {
        struct attn_range seen = {PTRDIFF_MIN / 2, PTRDIFF_MAX / 2};
        if (lane < t->rows)
            seen = group_visible(&t->column[lane / VF_LANES], (size_t)lane % VF_LANES);
        t->lo[lane] = seen.lo;
        t->hi[lane] = seen.hi;
    }
}

static int32_t within_block(ptrdiff_t j)
{
    return (int32_t)(j < 0 ? 0 : j > FLASH_KEYS ? FLASH_KEYS : j);
}

/* For the rows of a block whose first key is `first`. */
static inline struct lane_range lanes_that_see(const struct tile *t, int c, ptrdiff_t first)
{
    int32_t lo[VF_LANES], hi[VF_LANES];
    for (int i = 0; i < VF_LANES; i++) {
        lo[i] = within_block(t->lo[c * VF_LANES + i] - first);
        hi[i] = within_block(t->hi[c * VF_LANES + i] - first);
    }
    struct lane_range lanes;
    memcpy(&lanes.lo, lo, sizeof lo);
    memcpy(&lanes.hi, hi, sizeof hi);
    return lanes;
}

/* Masked scores of rows [from, to) become the floor; raises top to the others. */
static inline void mask_strip(const struct block *block, const struct tile *t,
                              const struct strip *strip, int from, int to, vf top[FLASH_COLS])
{
    if (from >= to)
        return;
    for (int c = strip->col; c < strip->col + strip->cols; c++) {
        const struct lane_range lanes = lanes_that_see(t, c, block->first);
        float *s = block->s + (ptrdiff_t)from * FLASH_TILE + c * VF_LANES;
        for (int j = from; j < to; j++, s += FLASH_TILE) {
            const vf x = vf_select(seeing_lanes(&lanes, j), vf_load(s), t->floor[c]);
            top[c] = vf_max(x, top[c]);
            vf_store(s, x);
        }
    }
}
