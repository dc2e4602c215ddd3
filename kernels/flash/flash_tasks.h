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

#endif
