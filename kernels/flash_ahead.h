/*
 * flash_ahead.h: what kernel flash will touch next, fetched meanwhile.
 *
 * While a block of keys is worked on, the next one is fetched into the second-level cache, and
 * during a task's last block the first operands of the next task and the lines that this one's
 * results will be written to.  The hardware would follow such rows too, but only after it has
 * missed some of each.  Requests are spread evenly over the matrix products: a core tracks some
 * 24 misses, and a burst of more of them stops it.  The pages they fall on are looked up before,
 * all together (pages.h), which makes short heads 4 to 7 % faster and S = 1024 0.5 to 2.5 %.
 */
#ifndef ATTN_FLASH_AHEAD_H
#define ATTN_FLASH_AHEAD_H

#include "shared/group.h"
#include "shared/pages.h"

#define FLASH_LINE 64 /* bytes */

/* Rows of memory, `inner` of them at a stride within each of `outer` steps; strides in bytes. */
struct flash_region {
    const char *row;
    ptrdiff_t inner_stride, outer_stride;
    size_t inner, outer;
    size_t bytes; /* of a row */
};

struct flash_ahead {
    struct flash_region regions[4];
    int count;  /* regions planned */
    int region; /* the one being fetched, and the next row of it: */
    size_t outer, inner;
    size_t share; /* rows to fetch at a time */
};

static inline void flash_ahead_clear(struct flash_ahead *ahead)
{
    ahead->count = ahead->region = 0;
    ahead->outer = ahead->inner = ahead->share = 0;
}

/* Plans rows [first, first + n) of a KV head of K or V. */
static inline void flash_ahead_keys(struct flash_ahead *ahead, const struct attn_tensor *t,
                                    const struct group_block *block, size_t dim, ptrdiff_t first,
                                    ptrdiff_t n)
{
    const size_t element = attn_dtype_size(t->dtype);
    ahead->regions[ahead->count++] = (struct flash_region){
        .row = attn_row(t, block->b, block->g, (size_t)first),
        .outer_stride = t->stride[2] * (ptrdiff_t)element,
        .inner = 1,
        .outer = (size_t)n,
        .bytes = dim * element,
    };
}

/* Plans a block's rows of an operand that is laid out like Q. */
static inline void flash_ahead_queries(struct flash_ahead *ahead, const struct attn_tensor *t,
                                       const struct group_block *block, size_t dim)
{
    const size_t element = attn_dtype_size(t->dtype);
    const size_t i = group_query(block, 0);
    ahead->regions[ahead->count++] = (struct flash_region){
        .row = attn_row(t, block->b, block->g * block->group, i),
        .inner_stride = t->stride[1] * (ptrdiff_t)element,
        .outer_stride = t->stride[2] * (ptrdiff_t)element,
        .inner = block->group,
        .outer = group_query(block, block->rows - 1) - i + 1,
        .bytes = dim * element,
    };
}

/* Divides what is planned among so many calls of flash_ahead_fetch(), and looks up its pages. */
static inline void flash_ahead_share(struct flash_ahead *ahead, size_t calls)
{
    assert(calls > 0);
    size_t rows = 0;
    for (int i = 0; i < ahead->count; i++) {
        const struct flash_region *r = &ahead->regions[i];
        rows += r->inner * r->outer;
        for (size_t h = 0; h < r->inner; h++)
            pages_touch(r->row + (ptrdiff_t)h * r->inner_stride, r->outer_stride,
                        (ptrdiff_t)r->outer);
    }
    ahead->share = (rows + calls - 1) / calls;
}

static inline void flash_ahead_fetch(struct flash_ahead *ahead)
{
    for (size_t n = ahead->share; n > 0 && ahead->region < ahead->count; n--) {
        const struct flash_region *r = &ahead->regions[ahead->region];
        const char *row = r->row + (ptrdiff_t)ahead->outer * r->outer_stride +
                          (ptrdiff_t)ahead->inner * r->inner_stride;
        for (const char *end = row + r->bytes; row < end; row += FLASH_LINE)
            __builtin_prefetch(row, 0, 2);
        if (++ahead->inner < r->inner)
            continue;
        ahead->inner = 0;
        if (++ahead->outer < r->outer)
            continue;
        ahead->outer = 0;
        ahead->region++;
    }
}

#endif
