/*
 * geometry_of.h: part of kernel split_kv: divides a problem into units and splits, and the workspace among
 * them.
 */
#pragma once

#include "geometry_memory.h"
#include "geometry_readings.h"

#define TOUCH_BYTES 65536 /* of K, or of V, whose pages are looked up together (pages.h) */
#define HEADS_ABREAST 8   /* most KV heads that a task takes together */

/* Sequences that a task takes together where they share pages: as many rows as a unit has.  Which do is known
 * when a call has their tables. */
static inline size_t geometry_bundle(const struct geometry *g, const struct attn_problem *p)
{
    const size_t fit = geometry_minimum(UNIT_ROWS / g->unit_rows, UNITS_ABREAST);
    return geometry_minimum(fit, p->batch);
}

/* How many of few units' splits a task takes: as many as give all threads the same number of tasks, at least
 * RUNS_PER_THREAD or else half of it, or one. */
static inline size_t geometry_run(const struct geometry *g, const struct attn_problem *p,
                                  size_t threads)
{
    const size_t tasks = g->units / p->kv_heads * geometry_groups(g, p);
    const struct attn_sequence longest = {0, p->q_len, 0, p->kv_len};
    size_t step = 1;
    if (g->uneven || !geometry_alike(g, p, &longest))
        return 1;
    while (tasks * step % threads)
        step++;
    for (size_t least = RUNS_PER_THREAD * threads; least > threads; least /= 2)
        for (size_t runs = step; runs <= g->splits / 2 && runs <= 2 * least; runs += step)
            if (g->splits % runs == 0 && tasks * runs >= least)
                return g->splits / runs;
    return 1;
}

/* Slots, and which threads need them: see schedule.h for sequences that are uneven. */
static inline void geometry_share(struct geometry *g, const struct attn_problem *p, int threads)
{
    const size_t each = threads > 1 ? (size_t)threads : 0, many = UNITS_PER_THREAD * each;
    g->abreast = !MATRIX_UNIT && !g->alone && geometry_neighbours(p)
                     ? geometry_minimum(p->kv_heads, HEADS_ABREAST)
                     : 1;
    while (g->abreast > 1 && g->units / g->abreast * g->splits < many)
        g->abreast = (g->abreast + 1) / 2;
    g->whole = threads == 1 || g->splits == 1 || g->units / g->abreast >= many;
    g->run = g->whole ? g->splits : geometry_run(g, p, each);
    g->bundle = p->options & ATTN_OPTION_PAGED && !g->listed ? geometry_bundle(g, p) : 1;
    const bool ordered = g->uneven || g->bundle > 1;
    g->own = g->whole || ordered ? (size_t)threads * geometry_together(g) : 0;
    g->slots = g->own + (g->uneven ? geometry_minimum(g->units, many) : g->whole ? 0 : g->units);
    if (ordered)
        g->table_bytes = geometry_lines(4 * (p->batch + 1) * sizeof(size_t));
}

/* The largest divisor of n that is at most `most`. */
static inline size_t geometry_divisor(size_t n, size_t most)
{
    size_t divisor = n < most ? n : most;
    while (n % divisor)
        divisor--;
    return divisor;
}

/* Rows of a unit: of queries that share a list, whole ones if it has room for one. */
static inline size_t geometry_unit_most(const struct attn_problem *p)
{
    const size_t group = p->q_heads / p->kv_heads;
    if (!(p->options & ATTN_OPTION_INDEX))
        return UNIT_ROWS;
    return group > UNIT_ROWS ? geometry_divisor(group, UNIT_ROWS)
                             : group * geometry_divisor(p->index_block, UNIT_ROWS / group);
}

static inline struct geometry geometry_of(const struct attn_problem *p, int threads)
{
    const size_t element = attn_dtype_size(p->kv_dtype), rows = group_rows(p);
    const size_t row = (size_t)attn_elements_bytes(p->kv_dtype, (ptrdiff_t)p->qk_dim);
    const size_t bytes = geometry_block_bytes(rows, row, element);
    const size_t fit = bytes / row / GROUP_KEYS * GROUP_KEYS;
    const enum format format = format_of(p->kv_dtype);
    const struct attn_sequence longest = {0, p->q_len, 0, p->kv_len};
    struct geometry g = {
        .format = format,
        .qk = axis_of(p->qk_dim, p->kv_dtype, format),
        .v = axis_of(p->v_dim, p->kv_dtype, format),
        .natural =
            p->mask & ATTN_MASK_BIAS || p->options & (ATTN_OPTION_SOFTCAP | ATTN_OPTION_ALIBI),
        .looks = p->mask & (ATTN_MASK_BOOL | ATTN_MASK_BIAS) || p->options & ATTN_OPTION_INDEX,
        .shared = p->options & ATTN_OPTION_SHARED_KV,
        .uneven = p->options & (ATTN_OPTION_RAGGED | ATTN_OPTION_PACKED),
        .group = p->q_heads / p->kv_heads,
        .listed = p->options & ATTN_OPTION_INDEX ? p->index_count : 0,
        .in_place = !MATRIX_UNIT && p->options & ATTN_OPTION_INDEX && format != FORMAT_I4,
        .unit_most = geometry_unit_most(p),
        .tile_rows = MATRIX_UNIT || format == FORMAT_F32 || format == FORMAT_BF16 ? MOST_ROWS : 4,
        .block_keys = (ptrdiff_t)(fit ? geometry_minimum(fit, BLOCK_KEYS) : GROUP_KEYS),
    };
    g.unit_rows = geometry_minimum(rows, g.unit_most);
    const ptrdiff_t blocks = TOUCH_BYTES / g.block_keys / g.qk.bytes;
    g.touch_keys = (blocks > 1 ? blocks : 1) * g.block_keys;
    g.streams = geometry_streams(&g, p);
    g.near = geometry_near(&g, p);
    g.apart = g.streams || geometry_apart(&g, p);
    g.splits = (geometry_keys(&g, &longest) + SPLIT_KEYS - 1) / SPLIT_KEYS;
    g.alone = geometry_rows_alone(&g, p);
    if (!g.uneven)
        g.splits = geometry_splits(&g, &longest);
    g.units = p->batch * p->kv_heads * geometry_units(&g, &longest);
    g.q_floats = axis_floats(&g.qk, g.format);
    g.o_floats = axis_floats(&g.v, g.format);
    g.row_room = g.unit_rows;
#if BYTE_PAIRS
    if (FORMAT_BYTE_PAIRS(format)) /* whether channels have scales a plan does not know */
        g.q_floats = g.qk.steps * FORMAT_K_VECTORS(format) * VF_LANES * Q_PARTS;
    if (format == FORMAT_I4) /* also as pairs (nibble_pairs.h) */
        g.q_floats += g.qk.steps * VF_LANES;
#endif
#if MATRIX_UNIT
    g.row_room = attn_round_up(g.unit_rows, TILE_ROWS);
    g.block_keys = BLOCK_KEYS;
    g.touch_keys = TOUCH_BYTES / BLOCK_KEYS / g.qk.bytes * BLOCK_KEYS;
    if (g.touch_keys == 0)
        g.touch_keys = BLOCK_KEYS;
    g.q_floats = (ptrdiff_t)geometry_products(g.qk.dim) * STEP_DIMS / 2 *
                 (FORMAT_SCALED(format) ? Q_PARTS : 1);
    g.o_floats = (ptrdiff_t)geometry_products(g.v.dim) * STEP_DIMS;
#endif
    geometry_share(&g, p, threads);
    g.far = ALWAYS_FETCHES && g.whole && g.abreast == 1 &&
            geometry_kv_bytes(&g, p, p->batch) > NEAR_BYTES;
    geometry_bytes(&g);
    return g;
}
