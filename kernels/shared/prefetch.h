/*
 * prefetch.h: prefetches the memory that a kernel reads or writes next; for kernel files only.
 *
 * While a block of keys is processed, the next block is fetched into the second-level cache; during a task's
 * last block the first operands of the next task, and the lines of this task's results.  The hardware would
 * prefetch such rows, too, but only after some misses in each.  Requests are spread evenly over the matrix
 * products, as a core tracks some 24 misses at once, and a burst of more stalls it.  Pages are touched together
 * before (pages.h), but not by prefetch_divide_lines(): short heads 4 to 7 % faster, S = 1024 0.5 to 2.5 %.
 */
#pragma once

#include "group.h"
#include "keys.h"
#include "pages.h"
#include "simd.h"

#define LINE_BYTES 64 /* between requests; with longer lines some are redundant */

/* Rows of memory: `outer` steps of `inner` rows each; strides in bytes. */
struct prefetch_rows {
    const char *row;
    ptrdiff_t inner_stride, outer_stride;
    size_t inner, outer;
    size_t bytes; /* of a row */
};

#define PREFETCH_PLANS 32

struct prefetch {
    struct prefetch_rows planned[PREFETCH_PLANS];
    int count;           /* number of entries */
    int at;              /* the entry being fetched */
    size_t outer, inner; /* its next row */
    size_t column;       /* and byte, for prefetch_lines() */
    size_t share;        /* rows, or lines, per call */
    size_t due;          /* lines left over from earlier shares */
};

static inline void prefetch_clear(struct prefetch *prefetch)
{
    prefetch->count = prefetch->at = 0;
    prefetch->outer = prefetch->inner = prefetch->column = prefetch->share = prefetch->due = 0;
}

/* Plans to prefetch rows [first, first + n) of K or V, for as many pages as there is room. */
static inline void prefetch_keys(struct prefetch *prefetch, const struct keys *keys,
                                 const struct attn_tensor *t, size_t dim, ptrdiff_t first,
                                 ptrdiff_t n)
{
    const int most = prefetch->count + (PREFETCH_PLANS - 4) / 2;
    for (ptrdiff_t run; n > 0 && prefetch->count < most; first += run, n -= run) {
        run = keys_run(keys, first, n);
        prefetch->planned[prefetch->count++] = (struct prefetch_rows){
            .row = keys_row(keys, t, first),
            .outer_stride = attn_elements_bytes(t->dtype, t->stride[2]),
            .inner = 1,
            .outer = (size_t)run,
            .bytes = (size_t)attn_elements_bytes(t->dtype, (ptrdiff_t)dim),
        };
    }
}

/* Plans a block's rows of an operand that is laid out like Q. */
static inline void prefetch_queries(struct prefetch *prefetch, const struct attn_tensor *t,
                                    const struct group_block *block, size_t dim)
{
    const size_t element = attn_dtype_size(t->dtype);
    const size_t i = group_query(block, 0);
    prefetch->planned[prefetch->count++] = (struct prefetch_rows){
        .row = attn_row(t, block->b, block->g * block->group, block->sequence.q_first + i),
        .inner_stride = t->stride[1] * (ptrdiff_t)element,
        .outer_stride = t->stride[2] * (ptrdiff_t)element,
        .inner = block->group,
        .outer = group_query(block, block->rows - 1) - i + 1,
        .bytes = dim * element,
    };
}

/* Plans keys [first, first + n) of a block's rows of a bias or mask. */
static inline void prefetch_pairs(struct prefetch *prefetch, const struct attn_tensor *t,
                                  const struct group_block *block, ptrdiff_t first, ptrdiff_t n)
{
    const ptrdiff_t element = (ptrdiff_t)attn_dtype_size(t->dtype);
    const size_t i = group_query(block, 0);
    prefetch->planned[prefetch->count++] = (struct prefetch_rows){
        .row = (char *)attn_row(t, block->b, block->g * block->group, i) + first * element,
        .inner_stride = t->stride[1] * element,
        .outer_stride = t->stride[2] * element,
        .inner = t->stride[1] ? block->group : 1,
        .outer = t->stride[2] ? group_query(block, block->rows - 1) - i + 1 : 1,
        .bytes = (size_t)(n * element),
    };
}

/* Touches the pages of rows. */
static inline void prefetch_touch(const struct prefetch_rows *r)
{
    for (size_t h = 0; h < r->inner; h++)
        pages_touch(r->row + (ptrdiff_t)h * r->inner_stride, r->outer_stride, (ptrdiff_t)r->outer);
}

/* Divides the planned rows among so many calls of prefetch_share(), and touches their pages. */
static inline void prefetch_divide(struct prefetch *prefetch, size_t calls)
{
    assert(calls > 0);
    size_t rows = 0;
    for (int i = 0; i < prefetch->count; i++) {
        rows += prefetch->planned[i].inner * prefetch->planned[i].outer;
        prefetch_touch(&prefetch->planned[i]);
    }
    prefetch->share = (rows + calls - 1) / calls;
}

/*
 * Lines that a loop fetches, one every FETCH_STEPS steps.  If multiply-adds leave no pipe idle, a burst of
 * requests costs time; evenly spread ones are free.
 */
struct fetch {
    const char *line;
    ptrdiff_t stride; /* bytes to the next line; 0: nothing to fetch */
};

#define FETCH_STEPS 2 /* steps of a loop per line */

VF_INLINE void fetch_next(struct fetch *fetch)
{
    __builtin_prefetch(fetch->line, 0, 2);
    fetch->line += fetch->stride;
}

/* prefetch_divide() for loops: shares are lines.  Contiguous rows are divided into lines, and their pages are not
 * touched: so few lines begin one that this would only stall the multiply-adds. */
static inline void prefetch_divide_lines(struct prefetch *prefetch, size_t calls)
{
    size_t lines = 0;
    assert(calls > 0);
    for (int i = 0; i < prefetch->count; i++) {
        struct prefetch_rows *r = &prefetch->planned[i];
        if (r->inner == 1 && r->outer_stride == (ptrdiff_t)r->bytes) {
            r->outer = (r->outer * r->bytes + LINE_BYTES - 1) / LINE_BYTES;
            r->outer_stride = LINE_BYTES;
            r->bytes = LINE_BYTES;
        } else {
            prefetch_touch(r);
        }
        lines += r->inner * r->outer * ((r->bytes + LINE_BYTES - 1) / LINE_BYTES);
    }
    prefetch->share = lines / calls + 1;
}

/* One line of each of the next `lines` rows for a loop to fetch, if the shares so far add up to so many; else
 * none. */
static inline struct fetch prefetch_lines(struct prefetch *prefetch, size_t lines)
{
    prefetch->due += prefetch->share;
    if (prefetch->at == prefetch->count || prefetch->due < lines)
        return (struct fetch){(const char *)prefetch, 0};
    const struct prefetch_rows *r = &prefetch->planned[prefetch->at];
    const struct fetch fetch = {r->row + (ptrdiff_t)prefetch->outer * r->outer_stride +
                                    (ptrdiff_t)prefetch->inner * r->inner_stride +
                                    (ptrdiff_t)prefetch->column,
                                r->outer_stride};
    const size_t left = r->outer - prefetch->outer;
    prefetch->due -= lines < left ? lines : left;
    prefetch->outer += lines;
    if (lines < left)
        return fetch;
    prefetch->outer = 0;
    prefetch->column += LINE_BYTES;
    if (prefetch->column < r->bytes)
        return fetch;
    prefetch->column = 0;
    if (++prefetch->inner < r->inner)
        return fetch;
    prefetch->inner = 0;
    prefetch->at++;
    return fetch;
}

/* Prefetches the next share of the planned rows. */
static inline void prefetch_share(struct prefetch *prefetch)
{
    for (size_t n = prefetch->share; n > 0 && prefetch->at < prefetch->count; n--) {
        const struct prefetch_rows *r = &prefetch->planned[prefetch->at];
        const char *row = r->row + (ptrdiff_t)prefetch->outer * r->outer_stride +
                          (ptrdiff_t)prefetch->inner * r->inner_stride;
        for (const char *end = row + r->bytes; row < end; row += LINE_BYTES)
            __builtin_prefetch(row, 0, 2);
        if (++prefetch->inner < r->inner)
            continue;
        prefetch->inner = 0;
        if (++prefetch->outer < r->outer)
            continue;
        prefetch->outer = 0;
        prefetch->at++;
    }
}
