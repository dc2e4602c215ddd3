/*
 * flash_tasks.h: part of kernel flash: a task, a few tiles of queries of one KV head; shared/tasks.h
 * hands tasks out.
 */
#pragma once

#include "flash_tile.h"

/* First key of the block that holds key j: the same for every tile and any number of threads. */
static ptrdiff_t block_start(ptrdiff_t j)
{
    return j / FLASH_KEYS * FLASH_KEYS;
}

static ptrdiff_t block_keys(ptrdiff_t first, ptrdiff_t end)
{
    return end - first < FLASH_KEYS ? end - first : FLASH_KEYS;
}
