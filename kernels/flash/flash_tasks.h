/*
 * flash_tasks.h: part of kernel flash: a task, a few tiles of queries of one KV head; shared/tasks.h
 * hands tasks out.
 */
#ifndef ATTN_FLASH_TASKS_H
#define ATTN_FLASH_TASKS_H

#include "flash_tile.h"

/* Where the keys of a task are. */
static struct keys keys_of(const struct job *job, const struct group_block *task)
{
    const struct attn_problem *p = job->problem;
    const int32_t *list =
        task->rows ? attn_list(p, job->tensors, task->b, task->g, group_query(task, 0)) : NULL;
    return (struct keys){p, job->tensors, task->sequence, task->b, task->g, list};
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

/* Rows of a task: smaller tasks for more threads; what a tile computes does not depend on its
 * companions. */
static size_t task_rows(const struct attn_problem *p, const struct attn_tensors *tensors,
                        int threads)
{
    size_t tiles = FLASH_TILES;
    for (; threads > 1 && tiles > 1; tiles--) {
        size_t tasks = 0;
        for (size_t b = 0; b < p->batch; b++)
            tasks += p->q_heads / p->kv_heads * attn_sequence(p, tensors, b).q_len /
                     (tiles * FLASH_TILE);
        if (p->kv_heads * tasks >= 4 * (size_t)threads)
            break;
    }
    return tiles * FLASH_TILE;
}

#endif
