/*
 * geometry_memory.h: part of kernel split_kv: the layout of the workspace.
 */
#pragma once

#include "geometry.h"
#if MATRIX_UNIT
#include "shared/tile_rows.h"
#endif

#if MATRIX_UNIT
/* A panel: keys whose scores, weights and values are all held as tiles.  O is read and written once per
 * panel. */
enum { PANEL_BLOCKS = 4, PANEL_KEYS = PANEL_BLOCKS * BLOCK_KEYS };

static inline size_t geometry_products(ptrdiff_t dim)
{
    return (size_t)steps_of_dims((size_t)dim);
}

static inline void geometry_panel_bytes(const struct geometry *g, size_t bytes[SCRATCH_COUNT])
{
    const size_t step = STEP_DIMS * sizeof(uint16_t), rows = g->row_room;
    bytes[SCRATCH_P] = rows * PANEL_KEYS * sizeof(float);
    bytes[SCRATCH_K] = BLOCK_KEYS * geometry_products(g->qk.dim) * step;
    bytes[SCRATCH_V] = PANEL_KEYS * geometry_products(g->v.dim) * step;
    bytes[SCRATCH_A] = rows * PANEL_KEYS * sizeof(uint16_t);
    bytes[SCRATCH_BITS] = PANEL_BLOCKS * rows * sizeof(uint64_t);
}
#endif

/* Bytes of the rows of a block that is copied. */
static inline size_t geometry_copied_rows(const struct axis *axis, size_t keys)
{
    return geometry_lines(keys * (size_t)axis->bytes);
}

/* With the scales and zero points of groups behind them, of which a list's are copied, too. */
static inline size_t geometry_copy(const struct geometry *g, const struct axis *axis, size_t keys)
{
    const size_t groups = ((size_t)axis->dim - 1) / 32 + 1; /* at most */
    if (!g->listed)
        return GROUP_KEYS * (size_t)axis->bytes;
    return geometry_copied_rows(axis, keys) +
           (g->format == FORMAT_I4 ? 2 * keys * groups * sizeof(float) : 0);
}

#if ROW_LANES
/* Adds the memory of tiles of lanes to that of a thread, where sequences may share pages and tiles of lanes
 * take their keys (shared_keys.h). */
static inline void geometry_lanes(struct geometry *g)
{
    size_t floats[LANES_COUNT];
    lanes_floats(UNIT_ROWS, (size_t)g->q_floats, (size_t)g->o_floats, floats);
    const bool taken = g->bundle > 1 && g->format == FORMAT_BF16 && !g->natural && !g->looks &&
                       !g->qk.tail && !g->v.tail;
    for (int i = 0; i < LANES_COUNT && taken; i++) {
        g->lanes[i] = g->thread_bytes;
        g->thread_bytes += geometry_lines(floats[i] * sizeof(float));
    }
}
#endif

static inline void geometry_bytes(struct geometry *g)
{
    const size_t rows = g->row_room, keys = (size_t)g->block_keys;
    const size_t lanes = (size_t)g->tile_rows * keys + VF_LANES; /* of a tile, and past its end */
    const size_t merged = (size_t)(g->o_floats > g->q_floats ? g->o_floats : g->q_floats);
    const size_t p = rows * keys > ALONE_KEYS || !g->alone ? rows * keys : ALONE_KEYS;
    size_t bytes[SCRATCH_COUNT] = {
        [SCRATCH_Q] = rows * merged * sizeof(float),
        [SCRATCH_P] = p * sizeof(float),
        [SCRATCH_K] = geometry_copy(g, &g->qk, keys),
        [SCRATCH_V] = geometry_copy(g, &g->v, keys),
        [SCRATCH_TILES] = (rows / (size_t)g->tile_rows + 3) * sizeof(struct tile),
        [SCRATCH_VIEWS] = rows * sizeof(struct view),
        [SCRATCH_BITS] = 2 * rows * sizeof(uint64_t),
        [SCRATCH_TERMS] =
            g->natural || FORMAT_SCALED(g->format) ? TERMS_ARRAYS * lanes * sizeof(float) : 0,
        [SCRATCH_ROWS] = g->in_place ? sizeof(struct listed_rows) : 0,
    };
#if MATRIX_UNIT
    geometry_panel_bytes(g, bytes);
#endif
    for (int i = 0; i < SCRATCH_COUNT; i++) {
        g->scratch[i] = g->unit_bytes;
        g->unit_bytes += geometry_lines(bytes[i]);
    }
    g->thread_bytes = geometry_together(g) * g->unit_bytes;
#if ROW_LANES
    geometry_lanes(g);
#endif
    g->o_bytes = geometry_lines(rows * (size_t)g->o_floats * sizeof(float));
    g->part_bytes = g->o_bytes + geometry_lines(2 * rows * sizeof(float));
}

/* SIZE_MAX where it overflows, which no caller can lend. */
static inline size_t geometry_workspace(const struct geometry *g, int threads)
{
    size_t scratch, parts, sum;
    if (__builtin_mul_overflow(g->thread_bytes, (size_t)threads, &scratch) ||
        __builtin_mul_overflow(g->part_bytes, g->splits, &parts) ||
        __builtin_mul_overflow(parts, g->slots, &parts) ||
        __builtin_add_overflow(scratch, parts, &sum) ||
        __builtin_add_overflow(sum, g->table_bytes, &sum))
        return SIZE_MAX;
    return sum;
}
