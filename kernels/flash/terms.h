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

#include "block.h"

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

/* ---- which keys a tile sees ------------------------------------------------------------------ */

/* By row of a block: whether some query sees the key by mask and bias; whether all do. */
struct sight {
    uint8_t some[FLASH_KEYS], all[FLASH_KEYS];
};

static void look_at_mask(const struct block *block, const struct tile *t, struct sight *sight)
{
    const char *last = NULL;
    memset(sight->some, 0, sizeof sight->some);
    for (int c = 0; c < FLASH_COLS; c++)
        for (size_t i = 0; i < t->column[c].rows; i++) {
            const char *row = t->terms.mask[(size_t)c * VF_LANES + i];
            if (row == last) /* another head of the query, with the same mask */
                continue;
            last = row;
            for (int j = 0; j < block->keys; j++) {
                const uint8_t sees = (uint8_t)row[block->first + j];
                sight->some[j] |= sees;
                sight->all[j] &= sees;
            }
        }
}

/* Whether the bias is -inf for all queries and n <= VF_LANES keys: nearly always a corner tells. */
static bool bias_hides(const struct job *job, const struct tile *t, ptrdiff_t j, int n)
{
    const enum attn_dtype dtype = job->tensors->bias.dtype;
    const size_t bytes = attn_dtype_size(dtype);
    const char *first = t->terms.bias[0], *last = t->terms.bias[t->rows - 1];
    if (bias_at(job, first, j) != -INFINITY || bias_at(job, first, j + n - 1) != -INFINITY ||
        bias_at(job, last, j) != -INFINITY || bias_at(job, last, j + n - 1) != -INFINITY)
        return false;
    vi shown = {0};
    for (int i = 0; i < t->rows; i++) {
        const vf x = vf_load_elements(dtype, t->terms.bias[i] + (size_t)j * bytes, (size_t)n);
        shown |= (vi)(x != vf_set1(-INFINITY));
    }
    return !vi_any(shown & vi_first(n));
}

static void look_at_bias(const struct block *block, const struct tile *t, struct sight *sight)
{
    for (int j = 0; j < block->keys; j += VF_LANES) {
        const int n = block->keys - j < VF_LANES ? block->keys - j : VF_LANES;
        if (bias_hides(block->job, t, block->first + j, n))
            memset(sight->some + j, 0, (size_t)n);
    }
}

/* Rows of a block that are computed together. */
struct run {
    int from, to;
    bool full; /* no boolean mask hides any of it */
};

/* The next rows that some query sees; fewer hidden rows between them than a register tile has are
 * not worth a gap.  False where there are none. */
static bool next_run(const struct sight *sight, int keys, struct run *run)
{
    int from = run->to;
    while (from < keys && !sight->some[from])
        from++;
    int to = from;
    for (int j = from; j < keys && j - to < FLASH_ROWS; j++)
        if (sight->some[j])
            to = j + 1;
    run->from = from - from % PAIR;
    run->to = to + to % PAIR < keys ? to + to % PAIR : keys;
    run->full = true;
    for (int j = run->from; j < run->to; j++)
        run->full &= sight->all[j];
    return from < keys;
}

/* ---- passes over a column of scores ---------------------------------------------------------- */

static void cap_scores(const struct job *job, float *s, int n)
{
    const struct softcap cap = job->cap;
    for (const float *end = s + n * FLASH_TILE; s < end; s += FLASH_TILE)
        vf_store(s, softcap_each(&cap, vf_load(s)));
}

/* Adds slope * (j - position) to the scores of n keys from `first` on. */
static void add_alibi(const struct tile *t, int c, ptrdiff_t first, float *s, int n)
{
    const vi start = (int32_t)(first - t->terms.position) - t->terms.behind[c];
    const vf from = __builtin_convertvector(start, vf), slope = t->terms.slope[c];
    for (int j = 0; j < n; j++, s += FLASH_TILE)
        vf_store(s, vf_load(s) + slope * (from + vf_set1((float)j)));
}

/* Adds a bias, which hides the key where it is -inf: NaN and infinity do not survive that. */
VF_INLINE void add_bias(float *s, vf bias)
{
    vf_store(s, vf_select((vi)(bias == vf_set1(-INFINITY)), bias, vf_load(s) + bias));
}

static void add_one_bias(const struct job *job, const struct tile *t, ptrdiff_t first, float *s,
                         int n)
{
    for (int j = 0; j < n; j++, s += FLASH_TILE)
        add_bias(s, vf_set1(bias_at(job, t->terms.bias[0], first + j)));
}

/* Adds the lanes' own rows of bias, n <= VF_LANES elements of each from element `first` on. */
VF_INLINE void add_biases_of(enum attn_dtype dtype, char *const *rows, ptrdiff_t first, float *s,
                             int n)
{
    const ptrdiff_t bytes = (ptrdiff_t)attn_dtype_size(dtype);
    vf x[VF_LANES];
    VF_UNROLL
    for (int i = 0; i < VF_LANES; i++)
        x[i] = vf_load_elements(dtype, rows[i] + first * bytes, (size_t)n);
    transpose(x);
    VF_UNROLL
    for (int i = 0; i < VF_LANES; i++)
        if (i < n)
            add_bias(s + i * FLASH_TILE, x[i]);
}

static void add_biases(const struct job *job, char *const *rows, ptrdiff_t first, float *s, int n)
{
    const enum attn_dtype dtype = job->tensors->bias.dtype;
    int j = 0;
    for (; dtype == ATTN_F32 && j + VF_LANES <= n; j += VF_LANES)
        add_biases_of(ATTN_F32, rows, first + j, s + j * FLASH_TILE, VF_LANES);
    for (; j < n; j += VF_LANES)
        add_biases_of(dtype, rows, first + j, s + j * FLASH_TILE,
                      n - j < VF_LANES ? n - j : VF_LANES);
}

/* Hides n keys from `first` on in the lanes whose mask says so.  Of each lane's row VF_BYTES bytes are
 * taken at once, as VF_LANES words of four keys, which are transposed; kv_len: where rows end. */
static void hide_masked(char *const *rows, ptrdiff_t first, ptrdiff_t kv_len, float *s, int n)
{
    for (int done = 0; done < n; done += VF_BYTES) {
        const ptrdiff_t here = first + done, last = kv_len - VF_BYTES;
        const ptrdiff_t from = here <= last ? here : last > 0 ? last : 0;
        vf x[VF_LANES] = {{0}};
        for (int i = 0; i < VF_LANES; i++)
            if (last >= 0)
                x[i] = vf_load((const float *)(rows[i] + from));
            else
                memcpy(&x[i], rows[i], (size_t)kv_len);
        transpose(x);
        for (int j = done; j < n && j < done + VF_BYTES; j++) {
            const int at = (int)(first + j - from);
            const vi sees = (vi)x[at / 4] << (31 - at % 4 * 8) < 0;
            float *row = s + (ptrdiff_t)j * FLASH_TILE;
            vf_store(row, vf_select(sees, vf_load(row), vf_set1(-INFINITY)));
        }
    }
}

/* Hides rows [from, to) of the block in the lanes that stand too far away from them. */
static void hide_far(const struct block *block, const struct tile *t, int c, int from, int to)
{
    if (from >= to)
        return;
    const struct lane_range lanes = lanes_that_see(&t->column[c], block->first);
    float *s = block->s + (ptrdiff_t)from * FLASH_TILE + c * VF_LANES;
    for (int j = from; j < to; j++, s += FLASH_TILE)
        vf_store(s, vf_select(seeing_lanes(&lanes, j), vf_load(s), vf_set1(-INFINITY)));
}

/* The maximum of scores and top, NaN passed over: in four parts, as each takes some cycles. */
static vf largest(const float *s, int n, vf top)
{
    vf part[4] = {top, top, top, top};
    int j = 0;
    for (; j + 4 <= n; j += 4, s += 4 * FLASH_TILE) {
        VF_UNROLL
        for (int i = 0; i < 4; i++)
            part[i] = vf_max(vf_load(s + i * FLASH_TILE), part[i]);
    }
    for (; j < n; j++, s += FLASH_TILE)
        part[0] = vf_max(vf_load(s), part[0]);
    return vf_max(vf_max(part[0], part[1]), vf_max(part[2], part[3]));
}

/* ---- the block ------------------------------------------------------------------------------- */

/* Scores of a strip with all that is added; raises top. */
static void score_strip_with_terms(const struct block *block, const struct tile *t,
                                   const struct strip *strip, bool masked, vf top[FLASH_COLS])
{
    const struct job *job = block->job;
    const struct attn_problem *p = job->problem;
    const vf zero[FLASH_COLS] = {{0}},
             lowest[FLASH_COLS] = {vf_set1(-INFINITY), vf_set1(-INFINITY)};
    vf unused[FLASH_COLS] = {{0}};
    const struct score_target target = {.m = zero, .floor = lowest, .top = unused};
    score_rows(block, t, strip, strip->from, strip->to, target);
    const ptrdiff_t first = block->first + strip->from;
    const int n = strip->to - strip->from;
    for (int c = strip->col; c < strip->col + strip->cols; c++) {
        float *s = block->s + (ptrdiff_t)strip->from * FLASH_TILE + c * VF_LANES;
        if (p->options & ATTN_OPTION_SOFTCAP)
            cap_scores(job, s, n);
        if (p->options & ATTN_OPTION_ALIBI)
            add_alibi(t, c, first, s, n);
        if (p->mask & ATTN_MASK_BIAS && t->terms.one_bias)
            add_one_bias(job, t, first, s, n);
        else if (p->mask & ATTN_MASK_BIAS)
            add_biases(job, t->terms.bias + c * VF_LANES, first, s, n);
        hide_far(block, t, c, strip->from, strip->full_from);
        hide_far(block, t, c, strip->full_to, strip->to);
        if (masked)
            hide_masked(t->terms.mask + c * VF_LANES, first,
                        (ptrdiff_t)t->column[c].sequence.kv_len, s, n);
        top[c] = largest(s, n, top[c]);
    }
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
        score_strip_with_terms(block, t, &strips[i], masked, top);
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
    part.k = (const char *)block->k + key_bytes(block, from);
    part.v = first_value(block, from);
    return part;
}

/* Lets the tile's queries see those keys of the block that mask and bias leave. */
static void tile_block_seen(struct block *block, struct tile *t)
{
    const struct job *job = block->job;
    struct sight sight;
    memset(&sight, 1, sizeof sight);
    if (job->problem->mask & ATTN_MASK_BOOL)
        look_at_mask(block, t, &sight);
    if (job->problem->mask & ATTN_MASK_BIAS)
        look_at_bias(block, t, &sight);
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
