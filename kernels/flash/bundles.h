/*
 * bundles.h: part of kernel flash: neighbouring sequences whose tables begin with the same pages, a bundle.
 *
 * Where sequences have so few queries that those of several fit into the tiles of a task, a task takes all
 * queries of a bundle.  Blocks of keys in pages of all are read, widened and packed once for all of them;
 * then each sequence goes on with its own.  Blocks and tiles are the same as for a sequence by itself, so every
 * row keeps its bits.  (Hydragen, Juravsky et al. 2024; Cascade Inference, FlashInfer 2024.)
 */
#pragma once

#include "shared/shared_pages.h"
#include "flash_tasks.h"

/* Whether there may be any. */
static bool bundles_possible(const struct attn_problem *p)
{
    return p->options & ATTN_OPTION_PAGED && !(p->options & ATTN_OPTION_INDEX) && p->batch > 1;
}

/* Floats for the order of tasks, and for the count of keys that each sequence shares with the one before. */
static size_t order_floats(const struct attn_problem *p)
{
    const size_t turns = (p->batch + 1) * (sizeof(struct turn) / sizeof(float));
    return bundles_possible(p) ? turns + p->batch * (sizeof(size_t) / sizeof(float))
                               : tasks_floats(p);
}

/* ---- what sequences share -------------------------------------------------------------------- */

/* How many of the first `keys` keys have the same scales or zero points, n each, in sequences a and b. */
static size_t scales_alike(const struct attn_problem *p, const struct attn_tensor *t, size_t n,
                           size_t a, size_t b, size_t keys)
{
    if (!t->data || !t->stride[0])
        return keys;
    const size_t heads = t->stride[1] ? p->kv_heads : 1, each = t->stride[3] ? n : 1;
    const ptrdiff_t step = t->stride[3] * (ptrdiff_t)sizeof(float);
    size_t rows = t->stride[2] ? keys : 1;
    for (size_t g = 0; g < heads; g++)
        for (size_t j = 0; j < rows; j++) {
            const char *x = attn_row(t, a, g, j), *y = attn_row(t, b, g, j);
            for (size_t d = 0; d < each; d++, x += step, y += step)
                if (memcmp(x, y, sizeof(float)) != 0) /* bits: 0 and -0 differ */
                    rows = j;
        }
    return t->stride[2] ? rows : rows * keys;
}

/* Leading keys that sequence b shares with the one before: the same elements with the same scales. */
static size_t keys_shared(const struct attn_problem *p, const struct attn_tensors *t, size_t b)
{
    const size_t a = b - 1;
    const bool groups = p->kv_dtype == ATTN_I4;
    const size_t k = groups ? (p->qk_dim + p->kv_group - 1) / p->kv_group : p->qk_dim;
    const size_t v = groups ? (p->v_dim + p->kv_group - 1) / p->kv_group : 1;
    size_t keys = prefix_keys(p, t, a, b);
    if (!attn_dtype_scaled(p->kv_dtype))
        return keys;
    keys = scales_alike(p, &t->k_scale, k, a, b, keys);
    keys = scales_alike(p, &t->v_scale, v, a, b, keys);
    if (!(p->options & ATTN_OPTION_ZERO_POINTS))
        return keys;
    keys = scales_alike(p, &t->k_zero, k, a, b, keys);
    return scales_alike(p, &t->v_zero, v, a, b, keys);
}

/* Counts them for each sequence but the first; false if none shares a whole block with the one before. */
static bool find_shared(const struct attn_problem *p, const struct attn_tensors *t, size_t *shared)
{
    bool any = false;
    shared[0] = 0;
    for (size_t b = 1; b < p->batch; b++) {
        shared[b] = keys_shared(p, t, b);
        any |= shared[b] >= FLASH_KEYS;
    }
    return any;
}

/* ---- bundles --------------------------------------------------------------------------------- */

/* Rows of a sequence in whole tiles. */
static size_t padded_rows(const struct job *job, size_t b)
{
    const struct attn_problem *p = job->problem;
    const size_t rows =
        p->q_heads / p->kv_heads * attn_sequence(p, job->tensors, b).q_len + FLASH_TILE - 1;
    return rows - rows % FLASH_TILE;
}

/* How many sequences from b on are one task of at most `most_rows` rows; *keys, unless NULL: the keys that
 * they share, in whole blocks.  A sequence is added if it saves more reads than the others lose by sharing
 * fewer keys. */
static size_t bundle_count(const struct job *job, size_t b, size_t most_rows, size_t *keys)
{
    size_t n = 1, common = 0, rows = job->shared ? padded_rows(job, b) : 0;
    for (; rows && b + n < job->problem->batch; n++) {
        const size_t own = padded_rows(job, b + n), shared = job->shared[b + n];
        const size_t less = n == 1 || shared < common ? shared : common;
        rows += own;
        if (!own || rows > most_rows || less < FLASH_KEYS || less * n < common * (n - 1))
            break;
        common = less;
    }
    if (keys)
        *keys = common - common % FLASH_KEYS;
    return n;
}

/* Rows of a task: smaller tasks for more threads; what a tile computes does not depend on its
 * companions. */
static size_t task_rows(const struct job *job, int threads)
{
    const struct attn_problem *p = job->problem;
    size_t tiles = FLASH_TILES;
    for (; threads > 1 && tiles > 1; tiles--) {
        size_t tasks = 0;
        for (size_t b = 0, n; b < p->batch; b += n) {
            n = bundle_count(job, b, tiles * FLASH_TILE, NULL);
            tasks += n > 1 ? 1
                           : p->q_heads / p->kv_heads * attn_sequence(p, job->tensors, b).q_len /
                                 (tiles * FLASH_TILE);
        }
        if (p->kv_heads * tasks >= 4 * (size_t)threads)
            break;
    }
    return tiles * FLASH_TILE;
}

/* Puts bundles in order; sequences by themselves are bundles, too. */
static void order_bundles(struct job *job, struct turn *turns)
{
    size_t count = 0;
    for (size_t b = 0, n; b < job->problem->batch; b += n) {
        n = bundle_count(job, b, job->tasks.rows, NULL);
        turns[count++] = (struct turn){b, n * tasks_cost(&job->tasks, b)};
    }
    tasks_sort(&job->tasks, turns, count);
}

/* Queries of a KV head of all sequences of a bundle. */
struct bundle {
    struct group_block sequence[FLASH_TILES];
    int count;
    ptrdiff_t shared; /* keys in whole blocks */
};

/* The bundle of which `task` is the first sequence. */
static void bundle_open(struct bundle *bundle, const struct job *job,
                        const struct group_block *task)
{
    const struct attn_problem *p = job->problem;
    size_t shared;
    bundle->count = (int)bundle_count(job, task->b, job->tasks.rows, &shared);
    bundle->shared = (ptrdiff_t)shared;
    bundle->sequence[0] = *task;
    for (int i = 1; i < bundle->count; i++) {
        const size_t b = task->b + (size_t)i;
        const struct attn_sequence sequence = attn_sequence(p, job->tensors, b);
        bundle->sequence[i] = group_rows_in(p, &sequence, b, task->g, 0, SIZE_MAX);
    }
}

/* Part -1: the shared keys, read as the first sequence's, up to the last that a query sees, in whole blocks;
 * part i: the keys that only sequence i has. */
static struct group_block bundle_part(const struct bundle *bundle, int i)
{
    struct group_block part = bundle->sequence[i < 0 ? 0 : i];
    if (i >= 0 && part.seen.lo < bundle->shared)
        part.seen.lo = bundle->shared;
    for (int k = 1; i < 0 && k < bundle->count; k++) {
        const struct attn_range seen = bundle->sequence[k].seen;
        part.seen.lo = seen.lo < part.seen.lo ? seen.lo : part.seen.lo;
        part.seen.hi = seen.hi > part.seen.hi ? seen.hi : part.seen.hi;
    }
    if (i < 0) {
        part.seen.hi = block_start(part.seen.hi + FLASH_KEYS - 1);
        part.seen.hi = part.seen.hi < bundle->shared ? part.seen.hi : bundle->shared;
    }
    return part;
}

/* The part after part i; it has no rows if there is none. */
static struct group_block bundle_after(const struct bundle *bundle, int i)
{
    while (++i < bundle->count) {
        const struct group_block part = bundle_part(bundle, i);
        if (part.seen.lo < part.seen.hi)
            return part;
    }
    return (struct group_block){0};
}
