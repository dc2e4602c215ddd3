/*
 * onednn_block.h: part of kernel onednn: query rows that are multiplied together, and the keys they need.
 *
 * A block's rows share a KV head.  They are neighbouring queries of one head, or, where a head has
 * fewer queries than its group has heads (decode), the heads of one query, so that a block has as many
 * rows as possible.
 */
#pragma once

#include "kernel.h"

/* A block's scores, rows times keys of floats, should stay in L2; more rows than MOST_ROWS gain
 * nothing, fewer than LEAST_ROWS do not pay for the library's packing of K and V. */
#define SCORES_BYTES ((size_t)768 * 1024)
enum { LEAST_ROWS = 64, MOST_ROWS = 192, FEW_BLOCKS = 8, FEW_ROWS = 32 };

/* Under a mask blocks see different numbers of keys, and each number needs primitives of its own:
 * they are rounded up to a multiple of STEP, or of more, so that there are at most MOST_COUNTS. */
enum { STEP = 128, MOST_COUNTS = 32 };

struct geometry {
    bool by_heads; /* a block is heads of one query */
    size_t length; /* rows that can stand together: queries of a head, or heads of a group */
    size_t slabs;  /* of them a KV head: its query heads, or the queries */
    size_t rows;   /* of a block, the last of a slab may have fewer */
    size_t blocks; /* a slab */
    size_t step;   /* of the number of keys */
};

static struct geometry geometry_of(const struct attn_problem *p)
{
    const size_t group = p->q_heads / p->kv_heads;
    struct geometry g = {.by_heads = group > p->q_len};
    g.length = g.by_heads ? group : p->q_len;
    g.slabs = g.by_heads ? p->q_len : group;
    g.rows = SCORES_BYTES / sizeof(float) / p->kv_len / 16 * 16;
    g.rows = g.rows < LEAST_ROWS ? LEAST_ROWS : g.rows > MOST_ROWS ? MOST_ROWS : g.rows;
    if (p->batch * p->kv_heads * g.slabs * ((g.length + g.rows - 1) / g.rows) < FEW_BLOCKS)
        g.rows = FEW_ROWS;
    g.rows = g.rows < g.length ? g.rows : g.length;
    g.blocks = (g.length + g.rows - 1) / g.rows;
    g.step = attn_round_up((p->kv_len + MOST_COUNTS - 1) / MOST_COUNTS, STEP);
    return g;
}

struct block {
    const struct attn_problem *problem;
    const struct geometry *g;
    size_t b, head, slab; /* sequence, KV head, and which of its slabs */
    size_t first, rows;
    struct attn_range seen; /* keys that some row sees; lo = hi where none */
    struct attn_range full; /* keys that all rows see */
    size_t start, keys;     /* what is multiplied: all that are seen, rounded up */
};

/* Query head and query of row r. */
static size_t block_head(const struct block *block, size_t r)
{
    const size_t group = block->problem->q_heads / block->problem->kv_heads;
    return block->head * group + (block->g->by_heads ? block->first + r : block->slab);
}

static size_t block_query(const struct block *block, size_t r)
{
    return block->g->by_heads ? block->slab : block->first + r;
}

static struct attn_range block_visible(const struct block *block, size_t r)
{
    return attn_visible(block->problem, (ptrdiff_t)block_query(block, r));
}

/* Notes what the rows see. */
static void look(struct block *block)
{
    const size_t kv_len = block->problem->kv_len;
    struct attn_range seen = {PTRDIFF_MAX, 0}, full = {0, PTRDIFF_MAX};
    for (size_t r = 0; r < block->rows; r++) {
        const struct attn_range range = block_visible(block, r);
        full.lo = range.lo > full.lo ? range.lo : full.lo;
        full.hi = range.hi < full.hi ? range.hi : full.hi;
        if (range.lo < range.hi) {
            seen.lo = range.lo < seen.lo ? range.lo : seen.lo;
            seen.hi = range.hi > seen.hi ? range.hi : seen.hi;
        }
    }
    block->seen = seen.lo < seen.hi ? seen : (struct attn_range){0, 0};
    block->full = full.lo < full.hi ? full : (struct attn_range){0, 0};
    block->keys = attn_round_up((size_t)(block->seen.hi - block->seen.lo), block->g->step);
    block->keys = block->keys < kv_len ? block->keys : kv_len;
    block->start = (size_t)block->seen.lo;
    if (block->start + block->keys > kv_len)
        block->start = kv_len - block->keys;
}

/* Block `index` of a KV head, slab by slab. */
static struct block block_at(const struct attn_problem *problem, const struct geometry *g, size_t b,
                             size_t head, size_t index)
{
    struct block block = {.problem = problem, .g = g, .b = b, .head = head};
    block.slab = index / g->blocks;
    block.first = index % g->blocks * g->rows;
    block.rows = g->length - block.first < g->rows ? g->length - block.first : g->rows;
    look(&block);
    return block;
}
