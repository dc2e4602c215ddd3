/*
 * strips.h: part of kernel flash: what the columns of a tile see of a block by their place.
 *
 * A positional mask leaves each query an interval of keys, so that a tile's two columns see at most
 * five strips of a block: what both see, and what either alone sees before and behind it.  Whatever
 * no column sees is not computed.  Within a strip the rows that all of its queries see, nearly
 * always all rows, need no mask.
 */
#ifndef ATTN_FLASH_STRIPS_H
#define ATTN_FLASH_STRIPS_H

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

/* Appends the rows `keys` of the block for these columns, unless there are none. */
static void add_strip(struct strip *strips, int *n, const struct block *block, const struct tile *t,
                      int col, int cols, struct attn_range keys)
{
    if (keys.lo >= keys.hi)
        return;
    struct attn_range all = t->column[col].full;
    if (cols == 2)
        all = intersect(t->column[1].full, all);
    all = intersect(all, keys);
    strips[(*n)++] = (struct strip){
        .col = col,
        .cols = cols,
        .from = (int)(keys.lo - block->first),
        .to = (int)(keys.hi - block->first),
        .full_from = (int)(all.lo - block->first),
        .full_to = (int)(all.hi - block->first),
    };
}

/* Splits the block's rows by the columns that see them; returns the number of strips, at most 3.
 * The second column's queries are the later ones, which see neither sooner nor less far. */
static int split(const struct block *block, const struct tile *t, struct strip strips[3])
{
    const struct attn_range keys = {block->first, block->first + block->keys};
    const struct attn_range a = whole_pairs(block, intersect(t->column[0].seen, keys));
    const struct attn_range b = whole_pairs(block, intersect(t->column[1].seen, keys));
    const struct attn_range both = intersect(a, b);
    int n = 0;
    if (both.lo == both.hi) {
        add_strip(strips, &n, block, t, 0, 1, a);
        add_strip(strips, &n, block, t, 1, 1, b);
        return n;
    }
    add_strip(strips, &n, block, t, 0, 2, both);
    add_strip(strips, &n, block, t, 0, 1, (struct attn_range){a.lo, both.lo});
    add_strip(strips, &n, block, t, 1, 1, (struct attn_range){both.hi, b.hi});
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

/* Lanes of a column that see row 0, 1, ... of a block whose first key is `first`. */
struct lane_range {
    vi lo, hi;
};

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

static inline vi seeing_lanes(const struct lane_range *lanes, int row)
{
    const vi j = row - (vi){0};
    return (vi)(lanes->lo <= j) & (vi)(j < lanes->hi);
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

#endif
