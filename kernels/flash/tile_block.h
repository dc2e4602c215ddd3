/*
 * tile_block.h: part of kernel flash: one tile of queries against one block of keys.
 *
 * tile_block() computes scores without terms, under positional masks alone; flash_terms.h uses its parts
 * for all others.
 */
#pragma once

#include "direct.h"
#include "speculation.h"

/* ---- values that not all lanes may see -------------------------------------------------------- */

/* Element j of a row of bias. */
static float bias_at(enum attn_dtype dtype, const char *row, ptrdiff_t j)
{
    if (dtype == ATTN_F32)
        return ((const float *)row)[j];
    const uint16_t x = ((const uint16_t *)row)[j];
    return dtype == ATTN_BF16 ? attn_bf16_to_f32(x) : attn_f16_to_f32(x);
}

/* Whether lane i of column c sees the key, which is there, by every mask there is. */
static bool lane_sees(const struct job *job, const struct tile *t, int c, size_t i, ptrdiff_t key)
{
    const unsigned masks = job->problem->mask;
    const size_t lane = (size_t)c * VF_LANES + i;
    const struct attn_range range = group_visible(&t->column[c], i);
    if (key < range.lo || key >= range.hi)
        return false;
    if (masks & ATTN_MASK_BOOL && !t->terms.mask[lane][key])
        return false;
    if (masks & ATTN_MASK_TREE &&
        !attn_tree_sees(&t->tree, (ptrdiff_t)group_query(&t->column[c], i), key))
        return false;
    return !(masks & ATTN_MASK_BIAS) ||
           bias_at(job->tensors->bias.dtype, t->terms.bias[lane], key) != -INFINITY;
}

/* Lanes of a column that see row j of the block. */
static vi lanes_seeing(const struct block *block, const struct tile *t, int c, int j)
{
    const ptrdiff_t key = keys_at(&block->source, block->first + j);
    vi sees = {0};
    for (size_t i = 0; i < t->column[c].rows; i++)
        sees[i] = -(key >= 0 && lane_sees(block->job, t, c, i, key));
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

#if !FLASH_DIRECT
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
#endif

/* Weighted values of a strip; where a key is masked for some queries its values must be finite to
 * be multiplied by 0. */
static void value_strip(const struct block *block, struct tile *t, const struct strip *strip,
                        bool fresh)
{
    int from = strip->from, to = strip->to;
    if (!values_finite(block, from, strip->full_from))
        from = strip->full_from + (-strip->full_from & (PAIR - 1));
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
    const bool fresh = !t->started && strips[0].cols * VF_LANES >= t->rows;
    if (!t->started && !fresh)
        memset(t->o, 0, (size_t)block->job->v_dim * FLASH_TILE * sizeof *t->o);
    t->started = true;
    for (int i = 0; i < n; i++)
        value_strip(block, t, &strips[i], fresh && i == 0);
}

/* Rows of a block as a block. */
static struct block block_part(const struct block *block, int from, int to)
{
    struct block part = *block;
    part.first += from;
    part.keys = to - from;
    part.whole = to < block->keys || block->whole;
    part.s += from * FLASH_TILE;
    part.seen_by = block->seen_by ? block->seen_by + from : NULL;
    part.k = (const char *)block->k + key_bytes(block, from);
    part.v = first_value(block, from);
    return part;
}

#if FLASH_SPECULATES
/* Whether scores and weights of a block are tried at once: all queries see all of it, in whole
 * register tiles.  Not where it ends with what the task's queries see: of queries of one position, in another
 * task, it would end later, and with fewer or more threads a task has others. */
static bool may_speculate(const struct block *block, const struct strip *strip)
{
    return strip->cols == FLASH_COLS && strip->full_from == 0 && strip->full_to == block->keys &&
           block->keys % FLASH_ROWS == 0 && block->whole;
}
#endif

/* The first rows of a block that is not seen whole, as many as all queries see, in whole register tiles; 0
 * where these are not worth a pass over the results of their own. */
static int rows_seen_first(const struct block *block, const struct strip *strip)
{
    if (!VF_FACTOR_IN_LANE || !FLASH_SPECULATES || strip->cols != FLASH_COLS ||
        strip->full_from != 0)
        return 0;
    const int rows = strip->full_to / FLASH_ROWS * FLASH_ROWS;
    return rows >= 4 * FLASH_ROWS && (rows < block->keys || !block->whole) ? rows : 0;
}

/* Lets the tile's queries see what is in the strips. */
static void tile_strips(const struct block *block, struct tile *t, const struct strip *strips,
                        int n)
{
    if (!n)
        return;
#if FLASH_SPECULATES
    if (n == 1 && may_speculate(block, &strips[0]) && score_and_exp_block(block, t)) {
        add_values(block, t, &strips[0], 0, block->keys, !t->started);
        t->started = true;
        return;
    }
#endif
#if FLASH_DIRECT
    weigh_strips(block, t, strips, n);
#else
    vf shifts[FLASH_COLS];
    const vf *shift = score_strips(block, t, strips, n, shifts);
    for (int i = 0; i < n; i++)
        exp_strip(block, t, &strips[i], shift);
#endif
    value_strips(block, t, strips, n);
}

/* Lets the tile's queries see the keys of the block. */
static void tile_block(const struct block *block, struct tile *t)
{
    struct strip strips[FLASH_STRIPS];
    int n = split(block, t, strips);
    const int first = n ? rows_seen_first(block, &strips[0]) : 0;
    if (!first) {
        tile_strips(block, t, strips, n);
        return;
    }
    struct block part = block_part(block, 0, first);
    part.whole = true;
    n = split(&part, t, strips);
    tile_strips(&part, t, strips, n);
    part = block_part(block, first, block->keys);
    n = split(&part, t, strips);
    tile_strips(&part, t, strips, n);
}
