/*
 * flash_task.h: kernel flash: a task, a few tiles of queries of a KV head and all their keys.
 */
#ifndef ATTN_FLASH_TASK_H
#define ATTN_FLASH_TASK_H

#include "flash_attend.h"

/* Prepares the tile of rows `at` and following of a task; its q and o lie at `memory`. */
static void open_tile(const struct flash_job *job, struct flash_tile *t,
                      const struct group_block *task, size_t at, float *memory)
{
    t->rows = 0;
    for (int c = 0; c < FLASH_COLS; c++, at += VF_LANES) {
        t->column[c] = group_part(task, at, VF_LANES);
        t->rows += (int)t->column[c].rows;
    }
    t->q = memory;
    t->o = memory + job->problem->qk_dim * FLASH_TILE;
    job->type->load(job, t);
    flash_reset(t);
}

static void write_lse(const struct flash_job *job, const struct flash_tile *t)
{
    for (int c = 0; c < FLASH_COLS; c++)
        for (size_t i = 0; i < t->column[c].rows; i++)
            *group_row_f32(&t->column[c], &job->tensors->lse, i) =
                (float)(((double)t->m[c][i] + log2((double)t->l[c][i])) * M_LN2);
}

/* First key of the block that holds key j: the same for every tile and any number of threads. */
static ptrdiff_t block_start(ptrdiff_t j)
{
    return j / FLASH_KEYS * FLASH_KEYS;
}

static ptrdiff_t block_keys(ptrdiff_t first, ptrdiff_t end)
{
    return end - first < FLASH_KEYS ? end - first : FLASH_KEYS;
}

/* Register tiles, and so calls of flash_ahead_fetch(), of a tile of queries and so many keys. */
static size_t register_tiles(const struct flash_job *job, int keys)
{
    const size_t rows = FLASH_ROWS, k = (size_t)keys, v = (size_t)job->v_dim;
    return (k + rows - 1) / rows + (v + rows - 1) / rows;
}

/* Task `index`, with no rows past the last.  Of each head the last queries come first: under a
 * causal mask they have the most keys. */
static struct group_block task_at(const struct flash_job *job, size_t index)
{
    const struct attn_problem *p = job->problem;
    const size_t steps = (group_rows(p) + job->rows - 1) / job->rows;
    const size_t head = index / steps;
    if (head >= p->batch * p->kv_heads)
        return (struct group_block){0};
    return group_block_at(p, head / p->kv_heads, head % p->kv_heads, steps - 1 - index % steps,
                          job->rows);
}

/* The next task that no thread has taken. */
static struct group_block take(const struct flash_job *job)
{
    size_t index, *taken = job->taken;
#pragma omp atomic capture
    index = (*taken)++;
    return task_at(job, index);
}

/*
 * Plans what to fetch during the block at `first` of `task`, in so many calls: its next block or,
 * in its last, the lines of its results and what the task to follow, *next, reads first.  That is
 * taken here and not before: another thread may be free earlier.
 */
static void look_ahead(const struct flash_job *job, struct flash_ahead *ahead,
                       const struct group_block *task, struct group_block *next, ptrdiff_t first,
                       size_t calls)
{
    const struct attn_problem *p = job->problem;
    flash_ahead_clear(ahead);
    first += FLASH_KEYS;
    if (first >= task->seen.hi) {
        *next = take(job);
        if (job->v_dim)
            flash_ahead_queries(ahead, &job->tensors->o, task, p->v_dim);
        if (next->rows)
            flash_ahead_queries(ahead, &job->tensors->q, next, p->qk_dim);
        task = next;
        first = task->rows ? block_start(task->seen.lo) : 0;
    }
    if (task->rows && first < task->seen.hi) {
        const ptrdiff_t keys = block_keys(first, task->seen.hi);
        flash_ahead_keys(ahead, &job->tensors->k, task, p->qk_dim, first, keys);
        flash_ahead_keys(ahead, &job->tensors->v, task, p->v_dim, first, keys);
    }
    flash_ahead_share(ahead, calls);
}

/* Computes a task; returns the one to follow. */
static struct group_block run_task(const struct flash_job *job, const struct group_block *task,
                                   float *scratch)
{
    const size_t floats = FLASH_TILE * (job->problem->qk_dim + job->problem->v_dim);
    struct flash_tile tiles[FLASH_TILES];
    int n = 0;
    for (size_t at = 0; at < task->rows; at += FLASH_TILE, n++)
        open_tile(job, &tiles[n], task, at, scratch + FLASH_TILE * FLASH_KEYS + (size_t)n * floats);

    struct group_block next = {0};
    struct flash_ahead ahead;
    struct flash_block block = {.job = job, .ahead = &ahead, .s = scratch};
    block.packed = scratch + FLASH_TILE * FLASH_KEYS + FLASH_TILES * floats;
    for (block.first = block_start(task->seen.lo); block.first < task->seen.hi;
         block.first += FLASH_KEYS) {
        block.keys = (int)block_keys(block.first, task->seen.hi);
        block.k = attn_row(&job->tensors->k, task->b, task->g, (size_t)block.first);
        block.v = attn_row(&job->tensors->v, task->b, task->g, (size_t)block.first);
        block.k_stride = job->tensors->k.stride[2];
        block.v_stride = job->tensors->v.stride[2];
        if (job->type->pack)
            job->type->pack(&block);
        look_ahead(job, &ahead, task, &next, block.first,
                   (size_t)n * register_tiles(job, block.keys));
        for (int i = 0; i < n; i++)
            attend(&block, &tiles[i]);
    }
    for (int i = 0; i < n; i++) {
        if (job->problem->outputs & ATTN_OUTPUT_O)
            job->type->store(job, &tiles[i]);
        if (job->problem->outputs & ATTN_OUTPUT_LSE)
            write_lse(job, &tiles[i]);
    }
    return task->seen.lo < task->seen.hi ? next : take(job);
}

#endif
