/*
 * terms.h: part of kernel flash: scores that more than the place of a key decides on.
 *
 * A boolean mask, and a bias of -inf, hide keys in any pattern.  They are looked at once per tile and
 * block: runs of keys that no query of the tile sees are not computed, and runs that all see take
 * the way of tile_block().  For the others scores are made as they are, a pass each caps them, adds
 * ALiBi and bias, makes those of hidden keys -inf and finds their maximum, while they are in the
 * first-level cache, and the weights are made when m is known.
 *
 * A pass takes one column of a strip, so that what a lane adds stays in registers; a bias and a mask,
 * whose rows lie along the keys, are transposed, VF_LANES keys (of a mask four times as many) at once.
 */
#ifndef ATTN_FLASH_TERMS_H
#define ATTN_FLASH_TERMS_H

#include "sight.h"

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
        t->terms.behind[c] = (vi){0};
        for (size_t i = 0; i < t->column[c].rows; i++) {
            t->terms.slope[c][i] = slopes[group_head(&t->column[c], i)];
            t->terms.behind[c][i] = (int32_t)(group_query(&t->column[c], i) - query);
        }
    }
}

static void find_terms(const struct job *job, struct tile *t)
{
    const struct attn_problem *p = job->problem;
    if (p->options & ATTN_OPTION_ALIBI)
        find_slopes(job, t);
    if (p->mask & ATTN_MASK_BOOL)
        find_lane_rows(t, &job->tensors->mask, t->terms.mask);
    if (!(p->mask & ATTN_MASK_BIAS))
        return;
    find_lane_rows(t, &job->tensors->bias, t->terms.bias);
    t->terms.one_bias = true;
    for (int i = 0; i < FLASH_TILE && t->column[i / VF_LANES].rows; i++)
        t->terms.one_bias &= t->terms.bias[i] == t->terms.bias[0];
}

/* ---- passes over a column of scores ---------------------------------------------------------- */

/* Changes n scores, change(score, key, with) each; returns their maximum, NaN passed over, in four
 * parts, as a maximum takes some cycles. */
VF_INLINE vf each_score(float *s, int n, vf (*change)(vf x, int j, const void *with),
                        const void *with)
{
    vf top[4];
    int j = 0;
    for (int i = 0; i < 4; i++)
        top[i] = vf_set1(-INFINITY);
    for (; j < n - 3; j += 4, s += 4 * FLASH_TILE) {
        VF_UNROLL
        for (int i = 0; i < 4; i++) {
            const vf x = change(vf_load(s + i * FLASH_TILE), j + i, with);
            vf_store(s + i * FLASH_TILE, x);
            top[i] = vf_max(x, top[i]);
        }
    }
    for (; j < n; j++, s += FLASH_TILE) {
        const vf x = change(vf_load(s), j, with);
        vf_store(s, x);
        top[0] = vf_max(x, top[0]);
    }
    return vf_max(vf_max(top[0], top[1]), vf_max(top[2], top[3]));
}

VF_INLINE vf as_it_is(vf x, int j, const void *with)
{
    (void)j;
    (void)with;
    return x;
}

VF_NOINLINE vf largest(float *s, int n)
{
    return each_score(s, n, as_it_is, NULL);
}

VF_INLINE vf capped(vf x, int j, const void *with)
{
    (void)j;
    return softcap_each(with, x);
}

VF_NOINLINE vf cap_scores(const struct job *job, float *s, int n)
{
    const struct softcap cap = job->cap;
    return each_score(s, n, capped, &cap);
}

struct line {
    vf start, slope;
};

VF_INLINE vf with_alibi(vf x, int j, const void *with)
{
    const struct line *line = with;
    return x + line->slope * (line->start + (float)j);
}

/* Adds slope * (j - position) to the scores of n keys from `first` on. */
VF_NOINLINE vf add_alibi(const struct tile *t, int c, ptrdiff_t first, float *s, int n)
{
    const vi start = (int32_t)(first - t->terms.position) - t->terms.behind[c];
    const struct line line = {__builtin_convertvector(start, vf), t->terms.slope[c]};
    return each_score(s, n, with_alibi, &line);
}

/* A bias hides the key where it is -inf: NaN and infinity do not survive that. */
VF_INLINE vf with_bias(vf x, vf bias)
{
    return vf_select((vi)(bias == vf_set1(-INFINITY)), bias, x + bias);
}

VF_INLINE vf with_one_bias(vf x, int j, const void *with)
{
    return with_bias(x, vf_set1(((const float *)with)[j]));
}

/* Adds the row of bias that all lanes have. */
VF_NOINLINE vf add_one_bias(const struct job *job, const struct tile *t, ptrdiff_t first, float *s,
                            int n)
{
    const enum attn_dtype dtype = job->tensors->bias.dtype;
    float widened[FLASH_KEYS];
    const float *bias = (const float *)t->terms.bias[0] + first;
    for (int j = 0; dtype != ATTN_F32 && j < n; j++)
        widened[j] = bias_at(dtype, t->terms.bias[0], first + j);
    return each_score(s, n, with_one_bias, dtype == ATTN_F32 ? bias : widened);
}

/* Adds the lanes' own rows of bias, n <= VF_LANES elements of each from element `first` on. */
VF_INLINE vf add_biases_of(enum attn_dtype dtype, char *const *rows, ptrdiff_t first, float *s,
                           int n, vf top)
{
    const ptrdiff_t bytes = (ptrdiff_t)attn_dtype_size(dtype);
    vf bias[VF_LANES];
    VF_UNROLL
    for (int i = 0; i < VF_LANES; i++)
        bias[i] = vf_load_elements(dtype, rows[i] + first * bytes, (size_t)n);
    transpose(bias);
    VF_UNROLL
    for (int i = 0; i < VF_LANES; i++)
        if (i < n) {
            const vf x = with_bias(vf_load(s + i * FLASH_TILE), bias[i]);
            vf_store(s + i * FLASH_TILE, x);
            top = vf_max(x, top);
        }
    return top;
}

VF_NOINLINE vf add_biases(const struct job *job, char *const *rows, ptrdiff_t first, float *s,
                          int n)
{
    const enum attn_dtype dtype = job->tensors->bias.dtype;
    vf top = vf_set1(-INFINITY);
    int j = 0;
    for (; dtype == ATTN_F32 && j + VF_LANES <= n; j += VF_LANES)
        top = add_biases_of(ATTN_F32, rows, first + j, s + j * FLASH_TILE, VF_LANES, top);
    for (; j < n; j += VF_LANES)
        top = add_biases_of(dtype, rows, first + j, s + j * FLASH_TILE,
                            n - j < VF_LANES ? n - j : VF_LANES, top);
    return top;
}

/* Hides n keys from `first` on in the lanes whose mask says so.  Of each lane's row VF_BYTES bytes are
 * taken at once, as VF_LANES words of four keys, which are transposed; kv_len: where rows end. */
VF_NOINLINE vf hide_masked(char *const *rows, ptrdiff_t first, ptrdiff_t kv_len, float *s, int n)
{
    vf top = vf_set1(-INFINITY);
    for (int done = 0; done < n; done += VF_BYTES) {
        const ptrdiff_t here = first + done, last = kv_len > VF_BYTES ? kv_len - VF_BYTES : 0;
        const ptrdiff_t from = here < last ? here : last;
        vf x[VF_LANES];
        for (int i = 0; i < VF_LANES; i++)
            x[i] = (vf)mask_bytes(rows[i] + from, kv_len - from);
        transpose(x);
        for (int j = done; j < n && j < done + VF_BYTES; j++) {
            const int at = (int)(first + j - from);
            const vi sees = (vi)x[at / 4] << (31 - at % 4 * 8) < 0;
            float *row = s + (ptrdiff_t)j * FLASH_TILE;
            const vf score = vf_select(sees, vf_load(row), vf_set1(-INFINITY));
            vf_store(row, score);
            top = vf_max(score, top);
        }
    }
    return top;
}

/* Hides rows [from, to) of the block in the lanes that stand too far away from them. */
static void hide_far(const struct block *block, const struct tile *t, int c, int from, int to)
{
    if (from >= to)
        return;
    const struct lane_range lanes = lanes_that_see(t, c, block->first);
    float *s = block->s + (ptrdiff_t)from * FLASH_TILE + c * VF_LANES;
    for (int j = from; j < to; j++, s += FLASH_TILE)
        vf_store(s, vf_select(seeing_lanes(&lanes, j), vf_load(s), vf_set1(-INFINITY)));
}

/* ---- the block ------------------------------------------------------------------------------- */

/* Adds to a column of a strip's scores all there is to add; returns their maximum. */
static vf change_column(const struct block *block, const struct tile *t, const struct strip *strip,
                        int c, bool masked)
{
    const struct job *job = block->job;
    const struct attn_problem *p = job->problem;
    const ptrdiff_t first = block->first + strip->from;
    const int n = strip->to - strip->from;
    float *s = block->s + (ptrdiff_t)strip->from * FLASH_TILE + c * VF_LANES;
    vf top = {0};
    if (p->options & ATTN_OPTION_SOFTCAP)
        top = cap_scores(job, s, n);
    if (p->options & ATTN_OPTION_ALIBI)
        top = add_alibi(t, c, first, s, n);
    if (p->mask & ATTN_MASK_BIAS && t->terms.one_bias)
        top = add_one_bias(job, t, first, s, n);
    else if (p->mask & ATTN_MASK_BIAS)
        top = add_biases(job, t->terms.bias + c * VF_LANES, first, s, n);
    hide_far(block, t, c, strip->from, strip->full_from);
    hide_far(block, t, c, strip->full_to, strip->to);
    if (masked)
        return hide_masked(t->terms.mask + c * VF_LANES, first,
                           (ptrdiff_t)t->column[c].sequence.kv_len, s, n);
    return strip->full_to - strip->full_from < n ? largest(s, n) : top;
}

/* Scores of a strip, not below `lowest`, with all that is added then; raises top. */
static void score_strip_with_terms(const struct block *block, const struct tile *t,
                                   const struct strip *strip, bool masked, float lowest,
                                   vf top[FLASH_COLS])
{
    const vf zero[FLASH_COLS] = {{0}}, floor[FLASH_COLS] = {vf_set1(lowest), vf_set1(lowest)};
    vf unused[FLASH_COLS] = {{0}};
    const struct score_target target = {.m = zero, .floor = floor, .top = unused};
    score_rows(block, t, strip, strip->from, strip->to, target);
    for (int c = strip->col; c < strip->col + strip->cols; c++)
        top[c] = vf_max(change_column(block, t, strip, c, masked), top[c]);
}

/* tile_block() with all that is added to scores; masked: by a boolean mask that hides some. */
static void tile_block_with_terms(const struct block *block, struct tile *t, bool masked)
{
    struct strip strips[5];
    const int n = split(block, t, strips);
    if (!n)
        return;
    vf top[FLASH_COLS];
    for (int c = 0; c < FLASH_COLS; c++)
        top[c] = vf_set1(-INFINITY);
    for (int i = 0; i < n; i++)
        score_strip_with_terms(block, t, &strips[i], masked, -INFINITY, top);
    tile_follow(t, top, block->job->unit, block->job->v_dim);
    for (int i = 0; i < n; i++) {
        exp_strip_scaled(block, t, &strips[i]);
        if (block->values == VALUES_UNKNOWN) /* nothing but its place hides a key */
            continue;
        strips[i].full_from = block->values == VALUES_FINITE ? strips[i].from : strips[i].to;
        strips[i].full_to = strips[i].to;
    }
    value_strips(block, t, strips, n);
}

/* Rows of a block as a block. */
static struct block block_part(const struct block *block, int from, int to)
{
    struct block part = *block;
    part.first += from;
    part.keys = to - from;
    part.s += from * FLASH_TILE;
    part.k = (const char *)block->k + key_bytes(block, from);
    part.v = first_value(block, from);
    return part;
}

/* Lets the tile's queries see those keys of the block that mask and bias leave. */
static void tile_block_seen(struct block *block, struct tile *t)
{
    const struct job *job = block->job;
    struct sight sight;
    look(block, t, &sight);
    for (struct run run = {0}; next_run(&sight, block->keys, &run);) {
        if (!block->packed_yet)
            pack(block);
        block->packed_yet = true;
        if (run.full && !job->natural) {
            const struct block part = block_part(block, run.from, run.to);
            tile_block(&part, t);
            continue;
        }
        if (block->values == VALUES_UNKNOWN && (!run.full || job->problem->mask & ATTN_MASK_BIAS))
            block->values =
                values_finite(block, 0, block->keys) ? VALUES_FINITE : VALUES_NOT_FINITE;
        const struct block part = block_part(block, run.from, run.to);
        tile_block_with_terms(&part, t, !run.full);
    }
}

#endif
