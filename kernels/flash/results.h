/*
 * results.h: part of kernel flash: what a tile writes when its queries have seen their keys.
 *
 * A sink enters last, as a key whose value is 0.  If weights are an output, scores are computed a second time
 * when m and the sum are known: nothing else of the length of a row is stored.
 */
#pragma once

#include "shared/softmax.h"
#include "flash_tasks.h"
#include "flash_terms.h"

/* Writes the tile's results but weights. */
static void close_tile(const struct job *job, struct tile *t)
{
    const struct attn_problem *p = job->problem;
    const float *sinks = p->options & ATTN_OPTION_SINKS ? job->tensors->sinks.data : NULL;
    const double to_natural = job->natural ? 1 : M_LN2;
    for (int c = 0; c < FLASH_COLS; c++) {
        t->inverse[c] = 1.0f / vf_select((vi)(t->l[c] == vf_set1(0)), vf_set1(1), t->l[c]);
        for (size_t i = 0; i < t->column[c].rows; i++) {
            double m = (double)t->m[c][i] * to_natural, l = (double)t->l[c][i];
            const float sink = sinks ? sinks[group_head(&t->column[c], i)] : -INFINITY;
            if (sink != -INFINITY)
                t->inverse[c][i] = (float)softmax_add_sink((double)sink, &m, &l);
            if (p->outputs & ATTN_OUTPUT_LSE)
                *group_row_real(&t->column[c], &job->tensors->lse, i) = (float)(m + log(l));
        }
    }
    if (p->outputs & ATTN_OUTPUT_O)
        store_tile(job, t);
}

/* ---- weights --------------------------------------------------------------------------------- */

/* Scores of a strip become weights.  Those of hidden keys are 0, as their scores are -inf; but in a row of NaN
 * only hidden keys have 0, and these are looked up. */
static void weigh_strip(const struct block *block, const struct tile *t, const struct strip *strip)
{
    const vf unit = vf_set1(block->job->unit);
    for (int c = strip->col; c < strip->col + strip->cols; c++) {
        float *s = block->s + (ptrdiff_t)strip->from * FLASH_TILE + c * VF_LANES;
        const bool nan = vi_any((vi)(t->inverse[c] != t->inverse[c]));
        for (int j = strip->from; j < strip->to; j++, s += FLASH_TILE) {
            const vi sees = nan ? lanes_seeing(block, t, c, j) : ~(vi){0};
            const vf weight = exp2_any((vf_load(s) - t->m[c]) * unit) * t->inverse[c];
            vf_store(s, (vf)((vi)weight & sees));
        }
    }
}

/* The same for a part of a block. */
static void weigh_part(const struct block *block, const struct tile *t, bool masked)
{
    struct strip strips[FLASH_STRIPS];
    const int n = split(block, t, strips);
    vf unused[FLASH_COLS] = {{0}};
    for (int i = 0; i < n; i++) {
        score_strip_with_terms(block, t, &strips[i], masked, unused);
        weigh_strip(block, t, &strips[i]);
    }
}

/* Writes n weights from row j of the block on to a row of the result, those of a list where its keys are. */
static void store_weights_of_row(const struct block *block, float *row, int j, vf x, int n)
{
    const ptrdiff_t first = block->first + j;
    if (!block->source.list)
        vf_store_elements(ATTN_F32, row + first, x, (size_t)n);
    for (int i = 0; block->source.list && i < n; i++)
        if (block->source.list[first + i] >= 0)
            row[block->source.list[first + i]] = x[i];
}

/* Writes a block of weights, transposed, to the tile's rows. */
static void store_weights(const struct block *block, const struct tile *t)
{
    for (int c = 0; c < FLASH_COLS && t->column[c].rows; c++) {
        char *rows[VF_LANES];
        find_rows(&t->column[c], &block->job->tensors->weights, t->column[c].sequence.q_first,
                  rows);
        for (int j = 0; j < block->keys; j += VF_LANES) {
            const int n = block->keys - j < VF_LANES ? block->keys - j : VF_LANES;
            vf x[VF_LANES];
            for (int i = 0; i < VF_LANES; i++)
                x[i] = i < n ? vf_load(block->s + (j + i) * FLASH_TILE + c * VF_LANES) : vf_set1(0);
            transpose(x);
            for (size_t i = 0; i < t->column[c].rows; i++)
                store_weights_of_row(block, (float *)rows[i], j, x[i], n);
        }
    }
}

static void weigh_block(struct block *block, const struct tile *t)
{
    struct visible visible;
    memset(block->s, 0, (size_t)block->keys * FLASH_TILE * sizeof *block->s);
    look(block, t, &visible);
    for (struct run run = {0}; next_run(&visible, block->keys, &run);) {
        const struct block part = block_part(block, run.from, run.to);
        weigh_part(&part, t, !run.full);
    }
    store_weights(block, t);
}

/* Weights of keys [from, to) are 0. */
static void clear_weights(const struct job *job, const struct tile *t, ptrdiff_t from, ptrdiff_t to)
{
    for (int c = 0; c < FLASH_COLS; c++)
        for (size_t i = 0; i < t->column[c].rows; i++)
            memset(group_row_real(&t->column[c], &job->tensors->weights, i) + from, 0,
                   (size_t)(to - from) * sizeof(float));
}

/* Writes the weights of a task's closed tiles; a block's memory is lent. */
static void weigh_task(const struct job *job, const struct group_block *task,
                       const struct tile *tiles, int n, const struct block *lent)
{
    struct job scores_alone = *job;
    struct prefetch nothing;
    struct block block = *lent;
    const ptrdiff_t all = (ptrdiff_t)job->problem->kv_len;
    const ptrdiff_t first = task->seen.lo < task->seen.hi ? block_start(task->seen.lo) : 0;
    const ptrdiff_t end = task->seen.lo < task->seen.hi ? task->seen.hi : 0;
    prefetch_clear(&nothing);
    for (int i = 0; i < n; i++) {
        clear_weights(job, &tiles[i], 0, lent->source.list ? all : first);
        clear_weights(job, &tiles[i], lent->source.list ? all : end, all);
    }
    scores_alone.v_dim = 0;
    block.job = &scores_alone;
    block.prefetch = &nothing;
    for (block.first = first; block.first < end; block.first += FLASH_KEYS) {
        block.keys = (int)block_keys(block.first, end);
        pack(&block);
        for (int i = 0; i < n; i++)
            weigh_block(&block, &tiles[i]);
    }
}
