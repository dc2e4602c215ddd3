/*
 * flash_terms.h: part of kernel flash: scores with softcap, ALiBi, bias, a boolean mask, a tree or a list.
 *
 * A boolean mask, a bias of -inf, a tree and a list hide keys in any pattern.  Each tile looks at them once
 * per block: runs of keys that no query sees are skipped, and runs that all queries see go through
 * tile_block().
 * The scores of all other runs are computed first; then one pass each, in L1, caps them, adds ALiBi and
 * bias, sets those of hidden keys to -inf and finds their maximum; weights follow when m is known.
 */
#pragma once

#include "score_passes.h"

/* ---- what the lanes of a tile add ------------------------------------------------------------ */

/* The rows of a bias or mask for each lane; lanes without a query get those of the first. */
static void find_lane_rows(const struct tile *t, const struct attn_tensor *operand,
                           char *rows[FLASH_TILE])
{
    for (int c = 0; c < FLASH_COLS && t->column[c].rows; c++) {
        find_rows(&t->column[c], operand, 0, rows + c * VF_LANES);
        for (int i = (int)t->column[c].rows; i < VF_LANES; i++)
            rows[c * VF_LANES + i] = rows[c * VF_LANES];
    }
}

static void find_slopes(const struct job *job, struct tile *t)
{
    const float *slopes = job->tensors->slopes.data;
    const struct group_block *first = &t->column[0];
    const size_t query = group_query(first, 0);
    t->terms.position =
        attn_position(job->problem, (ptrdiff_t)query, (ptrdiff_t)first->sequence.q_len,
                      (ptrdiff_t)first->sequence.kv_len);
    for (int c = 0; c < FLASH_COLS; c++) {
        t->terms.slope[c] = vf_set1(0);
        t->terms.behind[c] = vf_set1(0);
        for (size_t i = 0; i < t->column[c].rows; i++) {
            t->terms.slope[c][i] = slopes[group_head(&t->column[c], i)];
            t->terms.behind[c][i] = (float)(group_query(&t->column[c], i) - query);
        }
    }
}

static void find_terms(const struct job *job, struct tile *t)
{
    const struct attn_problem *p = job->problem;
    if (p->options & ATTN_OPTION_ALIBI)
        find_slopes(job, t);
    t->tree = attn_tree(p, job->tensors, &t->column[0].sequence, t->column[0].b);
    if (p->mask & ATTN_MASK_BOOL)
        find_lane_rows(t, &job->tensors->mask, t->terms.mask);
    if (!(p->mask & ATTN_MASK_BIAS))
        return;
    find_lane_rows(t, &job->tensors->bias, t->terms.bias);
    t->terms.one_bias = true;
    for (int i = 0; i < FLASH_TILE && t->column[i / VF_LANES].rows; i++)
        t->terms.one_bias &= t->terms.bias[i] == t->terms.bias[0];
}

/* ---- the block ------------------------------------------------------------------------------- */

/* Adds all terms to a column of a strip's scores; returns their maximum. */
static vf change_column(const struct block *block, const struct tile *t, const struct strip *strip,
                        int c, bool masked)
{
    const struct job *job = block->job;
    const struct attn_problem *p = job->problem;
    const ptrdiff_t first = block->first + strip->from;
    const int n = strip->to - strip->from;
    const int32_t *list = block->source.list ? block->source.list + first : NULL;
    float *s = block->s + (ptrdiff_t)strip->from * FLASH_TILE + c * VF_LANES;
    vf top = {0};
    if (p->options & ATTN_OPTION_SOFTCAP)
        top = cap_scores(job, s, n);
    if (p->options & ATTN_OPTION_ALIBI)
        top = add_alibi(t, c, first, list, s, n);
    if (p->mask & ATTN_MASK_BIAS && t->terms.one_bias)
        top = add_one_bias(job, t, first, list, s, n);
    else if (p->mask & ATTN_MASK_BIAS && list)
        top = add_listed_biases(job, t->terms.bias + c * VF_LANES, list, s, n);
    else if (p->mask & ATTN_MASK_BIAS)
        top = add_biases(job, t->terms.bias + c * VF_LANES, first, s, n);
    hide_far(block, t, c, strip->from, strip->full_from);
    hide_far(block, t, c, strip->full_to, strip->to);
    if (masked && block->seen_by)
        top = hide_unrelated(block->seen_by + strip->from, c, s, n);
    if (masked && p->mask & ATTN_MASK_BOOL && !list)
        return hide_masked(t->terms.mask + c * VF_LANES, first,
                           (ptrdiff_t)t->column[c].sequence.kv_len, s, n);
    return strip->full_to - strip->full_from < n ? largest(s, n) : top;
}

/* Scores of a strip, with all terms added; raises top. */
static void score_strip_with_terms(const struct block *block, const struct tile *t,
                                   const struct strip *strip, bool masked, vf top[FLASH_COLS])
{
    vf floor[FLASH_COLS], unused[FLASH_COLS] = {{0}};
    for (int c = 0; c < FLASH_COLS; c++)
        floor[c] = vf_set1(-INFINITY);
    const struct score_target target = {.m = no_start, .floor = floor, .top = unused};
    score_rows(block, t, strip, strip->from, strip->to, target);
    for (int c = strip->col; c < strip->col + strip->cols; c++)
        top[c] = vf_max(change_column(block, t, strip, c, masked), top[c]);
}

/* tile_block() for scores with terms; masked: a boolean mask, a tree or a list hides some keys. */
static void tile_block_with_terms(const struct block *block, struct tile *t, bool masked)
{
    struct strip strips[FLASH_STRIPS];
    const int n = split(block, t, strips);
    if (!n)
        return;
    vf top[FLASH_COLS], factor[FLASH_COLS];
    for (int c = 0; c < FLASH_COLS; c++)
        top[c] = vf_set1(-INFINITY);
    for (int i = 0; i < n; i++)
        score_strip_with_terms(block, t, &strips[i], masked, top);
    tile_follow(t, top, LAZY_LIMIT, block->job->unit, block->job->v_dim, factor);
    for (int i = 0; i < n; i++) {
        exp_strip_scaled(block, t, &strips[i]);
        if (block->values == VALUES_UNKNOWN) /* only positional masks hide keys */
            continue;
        strips[i].full_from = block->values == VALUES_FINITE ? strips[i].from : strips[i].to;
        strips[i].full_to = strips[i].to;
    }
    value_strips(block, t, strips, n);
}

/* Rows of the block up to the last that positional masks leave to a query of the tile, in whole pairs.  Keys
 * behind are seen by other tiles of the task alone, and a mask there must not change how this tile is
 * computed. */
static int keys_seen_by_place(const struct block *block, const struct tile *t)
{
    ptrdiff_t hi = t->column[0].seen.hi;
    for (int c = 1; c < FLASH_COLS && t->column[c].rows; c++)
        hi = t->column[c].seen.hi > hi ? t->column[c].seen.hi : hi;
    hi -= block->first;
    hi = hi < 0 ? 0 : hi + (-hi & (PAIR - 1));
    return hi < block->keys ? (int)hi : block->keys;
}

/* Lets the tile's queries see keys [run->to, end) of the block, as far as they are visible. */
static void tile_runs(struct block *block, struct tile *t, const struct visible *visible,
                      struct run *run, int end)
{
    const struct job *job = block->job;
    const int keys = keys_seen_by_place(block, t);
    while (next_run(visible, end, run)) {
        if (!block->packed_yet)
            pack(block);
        block->packed_yet = true;
        if (run->full && !job->natural) {
            struct block part = block_part(block, run->from, run->to);
            part.whole = run->to < keys || (block->whole && keys == block->keys);
            tile_block(&part, t);
            continue;
        }
        if (block->values == VALUES_UNKNOWN && (!run->full || job->problem->mask & ATTN_MASK_BIAS))
            block->values =
                values_finite(block, 0, block->keys) ? VALUES_FINITE : VALUES_NOT_FINITE;
        const struct block part = block_part(block, run->from, run->to);
        tile_block_with_terms(&part, t, !run->full);
    }
}

/* Lets the tile's queries see those keys of the block that mask, bias, tree and list leave.  The cache and the
 * drafts behind it are computed apart, as only drafts need a mask. */
static void tile_block_seen(struct block *block, struct tile *t)
{
    const int cached = cached_keys(block, t), keys = keys_seen_by_place(block, t);
    struct visible visible;
    struct run run = {0};
    look(block, t, &visible);
    if (cached < keys)
        tile_runs(block, t, &visible, &run, cached - cached % PAIR);
    tile_runs(block, t, &visible, &run, keys);
}
