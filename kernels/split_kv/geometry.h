/*
 * geometry.h: part of kernel split_kv: how it cuts a problem up, and what lies where in its
 * workspace.
 *
 * A unit is a block (group.h) of up to UNIT_ROWS query rows of one KV head.  A part is what a
 * split leaves of a unit: O (unnormalised), m and l of each row.
 */
#ifndef ATTN_SPLIT_KV_GEOMETRY_H
#define ATTN_SPLIT_KV_GEOMETRY_H

#include "shared/group.h"
#include "values.h"

#define SPLIT_KEYS 512     /* 256 KB of f32 K at D = 128: 10 us, against 1 us to start and merge */
#define ALONE_KEYS 1024    /* the same for a row alone, which is read faster the longer it is */
#define TOUCH_BYTES 65536  /* of K, or of V, whose pages are looked up together (pages.h) */
#define UNIT_ROWS 128      /* Q, P and O of a unit stay in L2 beside the streams of K and V */
#define BLOCK_KEYS 64      /* most keys of a block */
#define BLOCK_BYTES 8192   /* of K in a block: its K, its V, Q and O share 32 KB of L1 */
#define UNITS_PER_THREAD 8 /* from here on threads take whole units */

struct geometry {
    enum format format;
    struct axis qk, v;
    bool alone; /* units have one row, of f32 */
    size_t units, splits, split_keys;
    size_t units_per_head;        /* KV heads */
    size_t unit_rows;             /* most rows of a unit */
    int tile_rows;                /* most rows of a tile */
    ptrdiff_t block_keys;         /* a multiple of GROUP_KEYS */
    ptrdiff_t touch_keys;         /* whose pages are looked up together: whole blocks */
    ptrdiff_t q_floats, o_floats; /* of a row */
    bool whole;                   /* a thread takes all splits of a unit, and slots are threads' */
    /* Bytes, all multiples of ATTN_WORKSPACE_ALIGN.  A thread's scratch is the sum of the first
     * six; a part is O and then m and l of each row. */
    size_t q_bytes, p_bytes, hidden_bytes, k_bytes, tiles_bytes, seen_bytes, thread_bytes;
    size_t o_bytes, part_bytes, slots; /* slots for the parts of one unit */
};

static inline size_t geometry_lines(size_t bytes)
{
    return (bytes + ATTN_WORKSPACE_ALIGN - 1) / ATTN_WORKSPACE_ALIGN * ATTN_WORKSPACE_ALIGN;
}

static inline size_t geometry_minimum(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline void geometry_bytes(struct geometry *g)
{
    const size_t rows = g->unit_rows, keys = (size_t)g->block_keys;
    const size_t merged = (size_t)(g->o_floats > g->q_floats ? g->o_floats : g->q_floats);
    g->q_bytes = geometry_lines(rows * merged * sizeof(float)); /* and a row of O when merging */
    g->p_bytes = geometry_lines((g->alone ? g->split_keys : rows * keys) * sizeof(float));
    g->hidden_bytes = geometry_lines((size_t)g->tile_rows * keys * sizeof(int32_t));
    g->k_bytes = geometry_lines(keys * (size_t)g->qk.bytes);
    g->tiles_bytes = geometry_lines((rows / (size_t)g->tile_rows + 3) * sizeof(struct tile));
    g->seen_bytes = geometry_lines(rows * sizeof(struct attn_range));
    g->thread_bytes =
        g->q_bytes + g->p_bytes + g->hidden_bytes + g->k_bytes + g->tiles_bytes + g->seen_bytes;
    g->o_bytes = geometry_lines(rows * (size_t)g->o_floats * sizeof(float));
    g->part_bytes = g->o_bytes + geometry_lines(2 * rows * sizeof(float));
}

static inline struct geometry geometry_of(const struct attn_problem *p, int threads)
{
    const size_t element = attn_dtype_size(p->dtype), rows = group_rows(p);
    const size_t fit = BLOCK_BYTES / (p->qk_dim * element) / GROUP_KEYS * GROUP_KEYS;
    struct geometry g = {
        .format = p->dtype == ATTN_F32    ? FORMAT_F32
                  : p->dtype == ATTN_BF16 ? FORMAT_BF16
                                          : FORMAT_F16,
        .qk = axis_of(p->qk_dim, element),
        .v = axis_of(p->v_dim, element),
        .alone = rows == 1 && p->dtype == ATTN_F32,
        .units_per_head = (rows + UNIT_ROWS - 1) / UNIT_ROWS,
        .unit_rows = geometry_minimum(rows, UNIT_ROWS),
        .tile_rows = p->dtype == ATTN_F16 ? 4 : TILE_ROWS,
        .block_keys = (ptrdiff_t)(fit ? geometry_minimum(fit, BLOCK_KEYS) : GROUP_KEYS),
    };
    const ptrdiff_t blocks = TOUCH_BYTES / g.block_keys / g.qk.bytes;
    g.touch_keys = (blocks > 1 ? blocks : 1) * g.block_keys;
    g.split_keys = g.alone ? ALONE_KEYS : SPLIT_KEYS;
    g.splits = (p->kv_len + g.split_keys - 1) / g.split_keys;
    g.units = p->batch * p->kv_heads * g.units_per_head;
    g.q_floats = axis_floats(&g.qk, g.format);
    g.o_floats = axis_floats(&g.v, g.format);
    g.whole = threads == 1 || g.splits == 1 || g.units / UNITS_PER_THREAD >= (size_t)threads;
    g.slots = g.whole ? (size_t)threads : g.units;
    geometry_bytes(&g);
    return g;
}

/* SIZE_MAX where it overflows, which no caller can lend. */
static inline size_t geometry_workspace(const struct geometry *g, int threads)
{
    size_t scratch, parts, sum;
    if (__builtin_mul_overflow(g->thread_bytes, (size_t)threads, &scratch) ||
        __builtin_mul_overflow(g->part_bytes, g->splits, &parts) ||
        __builtin_mul_overflow(parts, g->slots, &parts) ||
        __builtin_add_overflow(scratch, parts, &sum))
        return SIZE_MAX;
    return sum;
}

#endif
