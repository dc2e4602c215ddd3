/*
 * group.h: blocks of the query rows that share a KV head, for kernel files only.
 *
 * Row r of KV head g is query r / group of query head g * group + r % group, group = Hq / Hkv: the heads of a
 * position are adjacent.  So a block's rows see nearly the same keys under any mask, and a decode step, one
 * position of several heads, is one block.
 */
#pragma once

#include "kernel.h"

struct group_block {
    const struct attn_problem *problem;
    struct attn_sequence sequence; /* lengths of sequence b */
    size_t b, g;                   /* sequence and KV head */
    size_t group;                  /* query heads of the KV head */
    size_t first, rows;            /* first row and how many */
    /* Keys that some row sees, and that all rows see; lo >= hi: none.  With a list of keys all its entries,
     * in both. */
    struct attn_range seen, full;
};

/* Query rows per KV head, of the longest sequence. */
static inline size_t group_rows(const struct attn_problem *problem)
{
    return problem->q_heads / problem->kv_heads * problem->q_len;
}

/* Query and query head of the block's row r. */
static inline size_t group_query(const struct group_block *block, size_t r)
{
    return block->group == 1 ? block->first + r : (block->first + r) / block->group;
}

static inline size_t group_head(const struct group_block *block, size_t r)
{
    return block->group == 1 ? block->g
                             : block->g * block->group + (block->first + r) % block->group;
}

/* Keys that the block's row r sees. */
static inline struct attn_range group_visible(const struct group_block *block, size_t r)
{
    return attn_visible_in(block->problem, (ptrdiff_t)group_query(block, r),
                           (ptrdiff_t)block->sequence.q_len, (ptrdiff_t)block->sequence.kv_len);
}

/* Row r of an operand that is laid out like Q. */
static inline void *group_row(const struct group_block *block, const struct attn_tensor *t,
                              size_t r)
{
    return attn_row(t, block->b, group_head(block, r),
                    block->sequence.q_first + group_query(block, r));
}

static inline real *group_row_real(const struct group_block *block, const struct attn_tensor *t,
                                   size_t r)
{
    assert(t->dtype == REAL_DTYPE);
    return group_row(block, t, r);
}

/*
 * Sets the keys that the block's rows see.  Both ends of a query's range move forward with the query, and
 * queries that see keys are adjacent, so the first and the last row suffice, unless one of them sees no key.
 */
static inline void group_look(struct group_block *block)
{
    if (block->problem->options & ATTN_OPTION_INDEX) {
        block->seen = (struct attn_range){0, (ptrdiff_t)block->problem->index_count};
        block->full = block->seen;
        return;
    }
    const struct attn_range start = group_visible(block, 0),
                            end = group_visible(block, block->rows - 1);
    block->seen = (struct attn_range){start.lo, end.hi};
    block->full = (struct attn_range){end.lo, start.hi};
    if (start.lo < start.hi && end.lo < end.hi)
        return;
    block->seen = (struct attn_range){PTRDIFF_MAX, 0};
    block->full = (struct attn_range){0, 0};
    for (size_t r = 0; r < block->rows; r++) {
        const struct attn_range range = group_visible(block, r);
        if (range.lo < range.hi) {
            block->seen.lo = range.lo < block->seen.lo ? range.lo : block->seen.lo;
            block->seen.hi = range.hi > block->seen.hi ? range.hi : block->seen.hi;
        }
    }
}

/* The rows of a block from `first` on, at most `most`; none if the block ends before. */
static inline struct group_block group_part(const struct group_block *block, size_t first,
                                            size_t most)
{
    struct group_block part = *block;
    part.first += first;
    part.rows = first >= block->rows ? 0 : block->rows - first < most ? block->rows - first : most;
    part.seen = (struct attn_range){PTRDIFF_MAX, 0};
    part.full = (struct attn_range){0, 0};
    if (part.rows)
        group_look(&part);
    return part;
}

/* Rows of a sequence from `first` on, at most `most`; none if it has fewer. */
static inline struct group_block group_rows_in(const struct attn_problem *problem,
                                               const struct attn_sequence *sequence, size_t b,
                                               size_t g, size_t first, size_t most)
{
    const size_t group = problem->q_heads / problem->kv_heads;
    const struct group_block all = {.problem = problem,
                                    .sequence = *sequence,
                                    .b = b,
                                    .g = g,
                                    .group = group,
                                    .rows = group * sequence->q_len};
    return group_part(&all, first, most);
}

/* Block `index` of a sequence divided into blocks of at most `most` rows; empty if it has fewer blocks. */
static inline struct group_block group_block_in(const struct attn_problem *problem,
                                                const struct attn_sequence *sequence, size_t b,
                                                size_t g, size_t index, size_t most)
{
    return group_rows_in(problem, sequence, b, g, index * most, most);
}

/* Whether some row of the block does not see all keys [j, j + n). */
static inline bool group_edge(const struct group_block *block, ptrdiff_t j, ptrdiff_t n)
{
    return j < block->full.lo || j + n > block->full.hi;
}
