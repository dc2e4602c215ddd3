/*
 * flash_attend.h: kernel flash: one tile of queries and one block of keys.
 *
 * A mask leaves each query an interval of keys, so that a tile's two columns see of a block at most
 * five parts: what both see, and what either alone sees before and behind it.  Whatever no column
 * sees is not computed.  Within a part the rows that all of its queries see, nearly always all
 * rows, need no mask.
 */
#ifndef ATTN_FLASH_ATTEND_H
#define ATTN_FLASH_ATTEND_H

#include "flash_softmax.h"

static struct attn_range intersect(struct attn_range a, struct attn_range b)
{
    const struct attn_range r = {a.lo > b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi};
    return r.lo < r.hi ? r : (struct attn_range){b.lo, b.lo};
}

/* The range grown to whole pairs of keys, as far as the block goes: keys that it gains are masked. */
static struct attn_range whole_pairs(const struct flash_block *block, struct attn_range keys)
{
    const ptrdiff_t pair = block->job->type->pair, end = block->first + block->keys;
    if (keys.lo == keys.hi)
        return keys;
    keys.lo -= (keys.lo - block->first) % pair;
    keys.hi += (keys.hi - block->first) % pair;
    keys.hi = keys.hi < end ? keys.hi : end;
    return keys;
}

/* Appends the rows `keys` of the block for these columns, unless there are none. */
static void add_part(struct flash_part *parts, int *n, const struct flash_block *block,
                     const struct flash_tile *t, int col, int cols, struct attn_range keys)
{
    if (keys.lo >= keys.hi)
        return;
    struct attn_range all = t->column[col].full;
    if (cols == 2)
        all = intersect(t->column[1].full, all);
    all = intersect(all, keys);
    parts[(*n)++] = (struct flash_part){
        .col = col,
        .cols = cols,
        .from = (int)(keys.lo - block->first),
        .to = (int)(keys.hi - block->first),
        .full_from = (int)(all.lo - block->first),
        .full_to = (int)(all.hi - block->first),
    };
}

/* Splits the block's rows by the columns that see them; returns the number of parts, at most 5. */
static int split(const struct flash_block *block, const struct flash_tile *t,
                 struct flash_part parts[5])
{
    const struct attn_range keys = {block->first, block->first + block->keys};
    const struct attn_range a = whole_pairs(block, intersect(t->column[0].seen, keys));
    const struct attn_range b = whole_pairs(block, intersect(t->column[1].seen, keys));
    const struct attn_range both = intersect(a, b);
    int n = 0;
    if (both.lo == both.hi) {
        add_part(parts, &n, block, t, 0, 1, a);
        add_part(parts, &n, block, t, 1, 1, b);
        return n;
    }
    add_part(parts, &n, block, t, 0, 2, both);
    add_part(parts, &n, block, t, 0, 1, (struct attn_range){a.lo, both.lo});
    add_part(parts, &n, block, t, 1, 1, (struct attn_range){b.lo, both.lo});
    add_part(parts, &n, block, t, 0, 1, (struct attn_range){both.hi, a.hi});
    add_part(parts, &n, block, t, 1, 1, (struct attn_range){both.hi, b.hi});
    return n;
}

/* Scores of a part.  Its fully visible rows make the maximum on the way; the rows before and
 * after, rounded to whole register tiles, go through the mask. */
static void score_part(const struct flash_block *block, const struct flash_tile *t,
                       const struct flash_part *part, vf top[FLASH_COLS])
{
    const struct flash_type *type = block->job->type;
    const int ragged = part->full_from - part->from;
    int from = part->from + (ragged + FLASH_ROWS - 1) / FLASH_ROWS * FLASH_ROWS;
    from = from < part->to ? from : part->to;
    int to = part->to;
    if (part->full_to < to)
        to = part->full_to > from ? from + (part->full_to - from) / FLASH_ROWS * FLASH_ROWS : from;
    vf unused[FLASH_COLS] = {{0}};
    type->scores(block, t, part, part->from, from, unused);
    type->scores(block, t, part, from, to, top);
    type->scores(block, t, part, to, part->to, unused);
    flash_mask(block, t, part, part->from, from, top);
    flash_mask(block, t, part, to, part->to, top);
}

/* Scores of all parts, less an m that follows them; what has still to be subtracted, or NULL. */
static const vf *score_parts(const struct flash_block *block, struct flash_tile *t,
                             const struct flash_part *parts, int n, vf shifts[FLASH_COLS])
{
    const vf *shift;
    bool far;
    do {
        vf top[FLASH_COLS];
        for (int c = 0; c < FLASH_COLS; c++)
            top[c] = vf_set1(-INFINITY);
        for (int i = 0; i < n; i++)
            score_part(block, t, &parts[i], top);
        shift = flash_raise(t, top, shifts, block->job->v_dim, &far);
    } while (far);
    return shift;
}

/* Weighted values of a part; where a key is masked for some queries its values must be finite to
 * be multiplied by 0. */
static void value_part(const struct flash_block *block, struct flash_tile *t,
                       const struct flash_part *part, bool fresh)
{
    const struct flash_type *type = block->job->type;
    int from = part->from, to = part->to;
    if (!type->finite(block, from, part->full_from))
        from = part->full_from + part->full_from % type->pair;
    if (!type->finite(block, part->full_to, to))
        to = part->full_to - part->full_to % type->pair;
    from = from < to ? from : to;
    type->values(block, t, part, from, to, fresh);
    flash_values_guarded(block, t, part, part->from, from);
    flash_values_guarded(block, t, part, to, part->to);
}

/* Whether scores and weights of a block are tried in one go: all queries see all of it, in whole
 * register tiles.  Where that does not come to its end the block is begun again. */
static bool may_weigh(const struct flash_block *block, const struct flash_part *part)
{
    return block->job->type->weigh && part->cols == FLASH_COLS && part->full_from == 0 &&
           part->full_to == block->keys && block->keys % FLASH_ROWS == 0;
}

static void attend(const struct flash_block *block, struct flash_tile *t)
{
    const struct flash_job *job = block->job;
    struct flash_part parts[5];
    const int n = split(block, t, parts);
    if (!n)
        return;
    if (n == 1 && may_weigh(block, &parts[0]) && job->type->weigh(block, t)) {
        job->type->values(block, t, &parts[0], 0, block->keys, !t->started);
        t->started = true;
        return;
    }
    vf shifts[FLASH_COLS];
    const vf *shift = score_parts(block, t, parts, n, shifts);
    for (int i = 0; i < n; i++)
        job->type->weights(block, t, &parts[i], shift);

    const bool fresh = !t->started && n == 1 && parts[0].cols * VF_LANES >= t->rows;
    if (!t->started && !fresh)
        memset(t->o, 0, (size_t)job->v_dim * FLASH_TILE * sizeof *t->o);
    t->started = true;
    for (int i = 0; i < n; i++)
        value_part(block, t, &parts[i], fresh);
}

#endif
