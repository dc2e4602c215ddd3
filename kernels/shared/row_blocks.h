/*
 * row_blocks.h: blocks of query rows that share a KV head, dealt out to threads, for the kernels that
 * multiply whole blocks.
 */
#pragma once

#include "group.h"

/* Whether lengths fit in 32 bits, as places of keys in lanes and arguments of BLAS do; else says why not. */
static inline bool row_blocks_support(const struct attn_problem *p, const char **why)
{
    *why = "a length of 2^31 or more";
    return p->kv_len <= INT32_MAX && p->qk_dim <= INT32_MAX && p->v_dim <= INT32_MAX;
}

/* In a parallel region: calls run(state, rows) for this thread's share of all blocks of at most `most` rows,
 * those with the last queries of a head first. */
static inline void row_blocks_run(const struct attn_problem *p, const struct attn_tensors *t,
                                  size_t most,
                                  void (*run)(void *state, const struct group_block *rows),
                                  void *state)
{
    const size_t blocks = (group_rows(p) + most - 1) / most;
#pragma omp for collapse(3) schedule(dynamic, 1)
    for (size_t b = 0; b < p->batch; b++)
        for (size_t g = 0; g < p->kv_heads; g++)
            for (size_t left = blocks; left > 0; left--) {
                const struct attn_sequence sequence = attn_sequence(p, t, b);
                const struct group_block rows = group_block_in(p, &sequence, b, g, left - 1, most);
                if (rows.rows)
                    run(state, &rows);
            }
}
