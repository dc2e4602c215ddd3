/*
 * flash_run.h: part of kernel flash: a task at work, its tiles through blocks of keys.
 */
#pragma once

#include "bundles.h"
#include "results.h"

/* ---- scratch: scores, each tile's q and o, K and V where they are packed --------------------- */

/* Rows of FLASH_TILE floats for a tile's queries.  Dimensions are filled up to groups of PAIR, in bfloat16:
 * with PAIR 4, a single one takes two rows. */
static size_t query_rows(const struct attn_problem *p)
{
    return PAIR == 4 && p->qk_dim == 1 ? 2 : p->qk_dim;
}

static size_t block_floats(const struct attn_problem *p)
{
    const size_t dims = query_rows(p) + p->v_dim;
    return FLASH_TILE * (FLASH_KEYS + FLASH_TILES * dims) + (packs(p) ? FLASH_PACKED(dims) : 0);
}

/* ---- a task: a few tiles of queries of a KV head, and all their keys ------------------------- */

/* Prepares the tile of rows `at` and following of a task; its q and o lie at `memory`. */
static void open_tile(const struct job *job, struct tile *t, const struct group_block *task,
                      size_t at, float *memory)
{
    t->rows = 0;
    for (int c = 0; c < FLASH_COLS; c++, at += VF_LANES) {
        t->column[c] = group_part(task, at, VF_LANES);
        t->rows += (int)t->column[c].rows;
    }
    t->q = memory;
    t->o = memory + query_rows(job->problem) * FLASH_TILE;
    load_queries(job, t);
    tile_reset(t);
    if (task->full.lo > task->seen.lo || task->full.hi < task->seen.hi ||
        (task->seen.lo | task->seen.hi) % PAIR || /* a pair may gain a hidden key */
        job->problem->options & ATTN_OPTION_INDEX)
        find_visible(t);
    if (job->terms)
        find_terms(job, t);
}

/*
 * Plans what `calls` calls fetch during the block at `first` of `task`: the task's next block or, during its
 * last, the first of *next.  If *next is not known yet, it is the next task, which is taken no earlier than
 * here, as another thread may be free before; then its queries are fetched, too, and the lines of this task's
 * results.
 */
static void plan_prefetch(const struct job *job, struct prefetch *prefetch,
                          const struct group_block *task, struct group_block *next, ptrdiff_t first,
                          size_t calls)
{
    const struct attn_problem *p = job->problem;
    prefetch_clear(prefetch);
    first += FLASH_KEYS;
    if (first >= task->seen.hi) {
        if (!next->rows) {
            *next = tasks_next(&job->tasks);
            if (job->v_dim)
                prefetch_queries(prefetch, &job->tensors->o, task, p->v_dim);
            if (next->rows)
                prefetch_queries(prefetch, &job->tensors->q, next, p->qk_dim);
        }
        task = next;
        first = task->rows ? block_start(task->seen.lo) : 0;
    }
    if (task->rows && first < task->seen.hi) {
        const ptrdiff_t n = block_keys(first, task->seen.hi);
        const struct keys keys = keys_of(job->tensors, task);
        if (p->mask & ATTN_MASK_BOOL && !keys.list) /* what is looked at first */
            prefetch_pairs(prefetch, &job->tensors->mask, task, first, n);
        prefetch_keys(prefetch, &keys, &job->tensors->k, p->qk_dim, first, n);
        if (!(p->options & ATTN_OPTION_SHARED_KV))
            prefetch_keys(prefetch, &keys, &job->tensors->v, p->v_dim, first, n);
        if (p->mask & ATTN_MASK_BIAS && !keys.list)
            prefetch_pairs(prefetch, &job->tensors->bias, task, first, n);
    }
    if (FLASH_DIRECT)
        prefetch_divide_lines(prefetch, calls);
    else
        prefetch_divide(prefetch, calls);
}

/* Lets tiles see keys [task->seen.lo, task->seen.hi) of the task's sequence; *next follows. */
VF_INLINE void see_keys(const struct job *job, struct block *block, const struct group_block *task,
                        struct tile *tiles, int n, struct group_block *next)
{
    const ptrdiff_t end = task->seen.hi;
    block->source = keys_of(job->tensors, task);
    for (block->first = block_start(task->seen.lo); block->first < end;
         block->first += FLASH_KEYS) {
        block->keys = (int)block_keys(block->first, end);
        block->whole = block->keys == FLASH_KEYS || block->source.list ||
                       end == (ptrdiff_t)task->sequence.kv_len;
        block->packed_yet = !job->terms;
        block->values = VALUES_UNKNOWN;
        if (block->packed_yet)
            pack(block);
        plan_prefetch(job, block->prefetch, task, next, block->first,
                      (size_t)n * count_register_tiles(job, block->keys));
        for (int i = 0; i < n; i++)
            if (job->terms)
                tile_block_seen(block, &tiles[i]);
            else
                tile_block(block, &tiles[i]);
    }
}

/* Ends the tiles of a task that has seen its keys. */
VF_INLINE void close_tiles(const struct job *job, const struct group_block *task,
                           struct tile *tiles, int n, struct block *block)
{
    for (int i = 0; i < n; i++)
        close_tile(job, &tiles[i]);
    if (job->problem->outputs & ATTN_OUTPUT_WEIGHTS) {
        block->source = keys_of(job->tensors, task);
        weigh_task(job, task, tiles, n, block);
    }
}

/* Floats of a tile's q and o. */
static size_t tile_floats(const struct job *job)
{
    return FLASH_TILE * (query_rows(job->problem) + job->problem->v_dim);
}

/* Opens the tiles of a task, or of a part of one, that come after `n` others; returns how many there are
 * then. */
VF_INLINE int open_tiles(const struct job *job, const struct group_block *task, struct tile *tiles,
                         int n, float *scratch)
{
    for (size_t at = 0; at < task->rows; at += FLASH_TILE, n++)
        open_tile(job, &tiles[n], task, at,
                  scratch + FLASH_TILE * FLASH_KEYS + (size_t)n * tile_floats(job));
    return n;
}

VF_INLINE struct block open_block(const struct job *job, struct prefetch *prefetch, float *scratch)
{
    return (struct block){.job = job,
                          .prefetch = prefetch,
                          .s = scratch,
                          .packed =
                              scratch + FLASH_TILE * FLASH_KEYS + FLASH_TILES * tile_floats(job)};
}

/* Computes a task; returns the one to do next. */
static struct group_block run_task(const struct job *job, const struct group_block *task,
                                   float *scratch)
{
    struct tile tiles[FLASH_TILES];
    struct group_block next = {0};
    struct prefetch prefetch;
    struct block block = open_block(job, &prefetch, scratch);
    const int n = open_tiles(job, task, tiles, 0, scratch);
    see_keys(job, &block, task, tiles, n, &next);
    close_tiles(job, task, tiles, n, &block);
    return task->seen.lo < task->seen.hi ? next : tasks_next(&job->tasks);
}

/* The same for a bundle that begins with sequence `task`: the tiles of all its sequences see the shared keys
 * together, then those of each see its own keys. */
static struct group_block run_bundle(const struct job *job, const struct group_block *task,
                                     float *scratch)
{
    struct tile tiles[FLASH_TILES];
    struct group_block next = {0};
    struct prefetch prefetch;
    struct block block = open_block(job, &prefetch, scratch);
    struct bundle bundle;
    int first[FLASH_TILES + 1] = {0};
    bundle_open(&bundle, job, task);
    for (int i = 0; i < bundle.count; i++)
        first[i + 1] = open_tiles(job, &bundle.sequence[i], tiles, first[i], scratch);
    for (int i = -1; i < bundle.count; i++) {
        const struct group_block part = bundle_part(&bundle, i);
        if (part.seen.lo >= part.seen.hi)
            continue;
        next = bundle_after(&bundle, i);
        const int from = i < 0 ? 0 : first[i], to = first[i < 0 ? bundle.count : i + 1];
        see_keys(job, &block, &part, tiles + from, to - from, &next);
    }
    for (int i = 0; i < bundle.count; i++)
        close_tiles(job, &bundle.sequence[i], tiles + first[i], first[i + 1] - first[i], &block);
    return next.rows ? next : tasks_next(&job->tasks);
}
