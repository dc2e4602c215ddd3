/*
 * block.h: part of kernel flash: one tile of queries against one block of keys.
 *
 * A mask leaves each query an interval of keys, so that a tile's two columns see at most five
 * strips of a block: what both see, and what either alone sees before and behind it.  Whatever no
 * column sees is not computed.  Within a strip the rows that all of its queries see, nearly always
 * all rows, need no mask.
 *
 * tile_block() is for scores that nothing but the place of a key changes; terms.h does the rest with
 * the parts that stand here.
 */
#ifndef ATTN_FLASH_BLOCK_H
#define ATTN_FLASH_BLOCK_H

#include "products.h"

/* ---- strips ---------------------------------------------------------------------------------- */

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
    keys.hi += (keys.hi - block->first) % PAIR;
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

/* Splits the block's rows by the columns that see them; returns the number of strips, at most 5. */
static int split(const struct block *block, const struct tile *t, struct strip strips[5])
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
    add_strip(strips, &n, block, t, 1, 1, (struct attn_range){b.lo, both.lo});
    add_strip(strips, &n, block, t, 0, 1, (struct attn_range){both.hi, a.hi});
    add_strip(strips, &n, block, t, 1, 1, (struct attn_range){both.hi, b.hi});
    return n;
}

/* ---- masks ----------------------------------------------------------------------------------- */

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

/* Element j of a row of bias. */
static float bias_at(enum attn_dtype dtype, const char *row, ptrdiff_t j)
{
    if (dtype == ATTN_F32)
        return ((const float *)row)[j];
    const uint16_t x = ((const uint16_t *)row)[j];
    return dtype == ATTN_BF16 ? attn_bf16_to_f32(x) : attn_f16_to_f32(x);
}

/* Lanes of a column that see row j of the block, by every mask there is. */
static vi lanes_seeing(const struct block *block, const struct tile *t, int c, int j)
{
    const unsigned masks = block->job->problem->mask;
    const ptrdiff_t key = block->first + j;
    const struct group_block *column = &t->column[c];
    vi sees = {0};
    for (size_t i = 0; i < column->rows; i++) {
        const size_t lane = (size_t)c * VF_LANES + i;
        const struct attn_range range = group_visible(column, i);
        bool visible = range.lo <= key && key < range.hi;
        if (visible && masks & ATTN_MASK_BOOL)
            visible = t->terms.mask[lane][key];
        if (visible && masks & ATTN_MASK_BIAS)
            visible =
                bias_at(block->job->tensors->bias.dtype, t->terms.bias[lane], key) != -INFINITY;
        sees[i] = -visible;
    }
    return sees;
}

/*
 * o += weights * V of rows [from, to), lane by lane only where the query sees the key: a masked
 * key has weight 0, which times NaN or infinity would be NaN.  Slow, and rarely needed.
 */
static inline void add_values_guarded(const struct block *block, struct tile *t,
                                      const struct strip *strip, int from, int to)
{
    if (from >= to)
        return;
    for (int c = strip->col; c < strip->col + strip->cols; c++)
        for (int j = from; j < to; j++) {
            const vi sees = lanes_seeing(block, t, c, j);
            const vf p = weight_at(block, j, c);
            for (int d = 0; d < block->job->v_dim; d++) {
                float *o = t->o + (ptrdiff_t)d * FLASH_TILE + c * VF_LANES;
                const vf old = vf_load(o);
                const vf v = vf_set1(value_at(block, j, d));
                vf_store(o, vf_select(sees, p * v + old, old));
            }
        }
}

/* ---- the block ------------------------------------------------------------------------------- */

/* Scores of a strip.  Its fully visible rows make the maximum on the way; the rows before and
 * after, rounded to whole register tiles, go through the mask. */
static void score_strip(const struct block *block, const struct tile *t, const struct strip *strip,
                        vf top[FLASH_COLS])
{
    const int ragged = strip->full_from - strip->from;
    int from = strip->from + (ragged + FLASH_ROWS - 1) / FLASH_ROWS * FLASH_ROWS;
    from = from < strip->to ? from : strip->to;
    int to = strip->to;
    if (strip->full_to < to)
        to =
            strip->full_to > from ? from + (strip->full_to - from) / FLASH_ROWS * FLASH_ROWS : from;
    vf unused[FLASH_COLS] = {{0}};
    score_rows(block, t, strip, strip->from, from, relative_to(t, unused));
    score_rows(block, t, strip, from, to, relative_to(t, top));
    score_rows(block, t, strip, to, strip->to, relative_to(t, unused));
    mask_strip(block, t, strip, strip->from, from, top);
    mask_strip(block, t, strip, to, strip->to, top);
}

/* Scores of all strips, less an m that follows them; what has still to be subtracted, or NULL. */
static const vf *score_strips(const struct block *block, struct tile *t, const struct strip *strips,
                              int n, vf shifts[FLASH_COLS])
{
    const vf *shift;
    bool far;
    do {
        vf top[FLASH_COLS];
        for (int c = 0; c < FLASH_COLS; c++)
            top[c] = vf_set1(-INFINITY);
        for (int i = 0; i < n; i++)
            score_strip(block, t, &strips[i], top);
        shift = tile_raise(t, top, shifts, block->job->v_dim, &far);
    } while (far);
    return shift;
}

/* Weighted values of a strip; where a key is masked for some queries its values must be finite to
 * be multiplied by 0. */
static void value_strip(const struct block *block, struct tile *t, const struct strip *strip,
                        bool fresh)
{
    int from = strip->from, to = strip->to;
    if (!values_finite(block, from, strip->full_from))
        from = strip->full_from + strip->full_from % PAIR;
    if (!values_finite(block, strip->full_to, to))
        to = strip->full_to - strip->full_to % PAIR;
    from = from < to ? from : to;
    add_values(block, t, strip, from, to, fresh);
    add_values_guarded(block, t, strip, strip->from, from);
    add_values_guarded(block, t, strip, to, strip->to);
}

/* Weighted values of all strips. */
static inline void value_strips(const struct block *block, struct tile *t,
                                const struct strip *strips, int n)
{
    const bool fresh = !t->started && n == 1 && strips[0].cols * VF_LANES >= t->rows;
    if (!t->started && !fresh)
        memset(t->o, 0, (size_t)block->job->v_dim * FLASH_TILE * sizeof *t->o);
    t->started = true;
    for (int i = 0; i < n; i++)
        value_strip(block, t, &strips[i], fresh);
}

/* Whether scores and weights of a block are tried at once: all queries see all of it, in whole
 * register tiles. */
static bool may_speculate(const struct block *block, const struct strip *strip)
{
    return FLASH_SPECULATES && strip->cols == FLASH_COLS && strip->full_from == 0 &&
           strip->full_to == block->keys && block->keys % FLASH_ROWS == 0;
}

/* Lets the tile's queries see the keys of the block. */
static void tile_block(const struct block *block, struct tile *t)
{
    struct strip strips[5];
    const int n = split(block, t, strips);
    if (!n)
        return;
    if (n == 1 && may_speculate(block, &strips[0]) && score_and_exp_block(block, t)) {
        add_values(block, t, &strips[0], 0, block->keys, !t->started);
        t->started = true;
        return;
    }
    vf shifts[FLASH_COLS];
    const vf *shift = score_strips(block, t, strips, n, shifts);
    for (int i = 0; i < n; i++)
        exp_strip(block, t, &strips[i], shift);
    value_strips(block, t, strips, n);
}

#endif
