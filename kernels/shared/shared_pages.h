/*
 * shared_pages.h: pages that sequences share.
 *
 * Many requests begin with the same text.  Servers store its keys once: the tables of all these requests name
 * the same pages.
 */
#pragma once

#include "attention.h"

/* Keys in the full pages with which sequences a and b of a paged problem both begin. */
static inline size_t prefix_keys(const struct attn_problem *problem,
                                 const struct attn_tensors *tensors, size_t a, size_t b)
{
    const struct attn_tensor *table = &tensors->block_table;
    const int32_t *x = (const int32_t *)table->data + (ptrdiff_t)a * table->stride[0];
    const int32_t *y = (const int32_t *)table->data + (ptrdiff_t)b * table->stride[0];
    const size_t keys = attn_sequence(problem, tensors, a).kv_len;
    const size_t others = attn_sequence(problem, tensors, b).kv_len;
    const size_t most = (keys < others ? keys : others) / problem->page_size;
    size_t pages = 0;
    while (pages < most && x[pages] == y[pages])
        pages++;
    return pages * problem->page_size;
}
