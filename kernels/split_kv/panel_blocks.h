/*
 * panel_blocks.h: part of kernel split_kv: rows and scores of a panel's blocks, for a matrix unit.
 *
 * Rows of a unit are padded to whole tiles: extra rows have a Q of 0, see what the last row sees, and are
 * ignored at the end.
 */
#pragma once

#include "values_in_place.h"

#define AHEAD_KEYS 64    /* how far ahead of a strip its rows are fetched into L2 */
#define K_AHEAD_BLOCKS 2 /* the same where values are read in place, in blocks */
#define V_AHEAD_BLOCKS 1

struct panel {
    int blocks, strips;
    bool careful;      /* values in place: those that are not finite are looked for and left out */
    ptrdiff_t touched; /* blocks before this key need no pages looked up */
    struct block block[PANEL_BLOCKS];
    int first[PANEL_BLOCKS];  /* strip of each */
    bool whole[PANEL_BLOCKS]; /* every row sees all */
    uint64_t unsafe
        [PANEL_BLOCKS]; /* keys that are left out of the products, as their values are not finite */
};

/* ---- rows ----------------------------------------------------------------------------------- */

/* Tiles of the unit that hold 16 rows each. */
static int row_tiles(const struct unit *u)
{
    return (u->rows + TILE_ROWS - 1) / TILE_ROWS;
}

/* Whether values are not packed, and panels are single blocks; those of 8 bits are not read as they lie. */
static bool in_place(const struct unit *u)
{
    return row_tiles(u) == 1 && !FORMAT_SCALED(u->g->format);
}

static uint64_t *bits_of_block(const struct unit *u, int block)
{
    return u->bits + (size_t)block * u->g->row_room;
}

/* What rows see of keys [j, j + n), those that are not there included. */
static struct mask_bits look_at(const struct unit *u, ptrdiff_t j, ptrdiff_t n, uint64_t *bits)
{
    const struct mask_bits s = unit_bits(u, j, n, bits);
    for (int r = u->rows; r < row_tiles(u) * TILE_ROWS; r++)
        bits[r] = bits[u->rows - 1];
    return s;
}

/* How far the shift of P lies below a maximum.  A matrix unit takes products below 2^-126 for 0, and elements of V
 * are divided by VALUES_UNIT (unit.h).  P is multiplied by it: with V's scales, or, where these multiply the result,
 * by a lower shift. */
static float lift_of(const struct unit *u, float bits)
{
    return u->scaling.values ? 0 : log2f(VALUES_UNIT(u->block.problem)) / bits;
}

/* Cuts the rows into tiles that have seen no key yet.  Their O is that of the part; it is written before it
 * is read (o_floats is 0 until then). */
static void start_tiles(struct unit *u, float *o)
{
    const struct geometry *g = u->g;
    const struct attn_problem *problem = u->block.problem;
    const int rows = row_tiles(u) * TILE_ROWS;
    for (int r = u->rows; r < rows; r++)
        u->view[r] = u->view[u->rows - 1];
    const float bits = u->scaling.natural ? SOFTMAX_LOG2E : 1, lift = lift_of(u, bits);
    u->tiles = 0;
    for (int row = 0; row < rows; row += VF_LANES) {
        struct tile *t = &u->tile[u->tiles++];
        *t = (struct tile){.rows = VF_LANES,
                           .keys = 1,
                           .unit = u->scaling.k,
                           .scale = u->scaling.natural ? attn_problem_scale(problem)
                                                       : softmax_scale(problem) * u->scaling.k,
                           .bits = bits,
                           .lift = lift,
                           .o = o + row * g->o_floats};
        for (int lane = 0; lane < VF_LANES; lane++)
            t->limit[lane] = -INFINITY;
        if (problem->options & ATTN_OPTION_ALIBI)
            place_rows(u, t, row);
    }
    if (FORMAT_SCALED(g->format))
        u->elements = elements_of(problem->kv_dtype, SCALING_UNIT(problem));
    for (int row = 0; row < rows; row += TILE_ROWS)
        pack_q(u, row, (uint16_t *)(u->q + row * g->q_floats));
}

/* Tile i of the unit at strip `strip` of a panel. */
static struct tile *tile_at_strip(const struct unit *u, int i, int strip)
{
    struct tile *t = &u->tile[i];
    const int row = i * VF_LANES;
    t->before = strip * STRIP_KEYS;
    t->p = u->p + row / TILE_ROWS * SCORES + row % TILE_ROWS + P_AT(t, t->before);
    return t;
}

/* Rows [j, j + n) of K, of 8 bits, as bfloat16 rows of `stride` bytes; zeros behind them up to a group. */
VF_INLINE void widen_rows(const enum row_kind kind, const struct unit *u, ptrdiff_t j, ptrdiff_t n,
                          ptrdiff_t stride, char *to)
{
    const struct elements own = u->elements; /* which no store changes */
    const size_t dim = (size_t)u->g->qk.dim;
    for (ptrdiff_t i = 0; i < n; i++) {
        const char *row = cache_rows(&u->k, j + i).data;
        uint16_t *at = (uint16_t *)(to + i * stride);
        size_t d = 0;
        if (!row) {
            memset(at, 0, (size_t)stride);
            continue;
        }
        for (; d + STEP_DIMS <= dim; d += STEP_DIMS)
            step_at(kind, &own, row + d, at + d);
        if (d < dim)
            last_step_at(kind, &own, row + d, dim - d, at + d);
    }
    memset(to + n * stride, 0, (size_t)((GROUP_KEYS - n) * stride));
}

VF_NOINLINE void widen_keys(const struct unit *u, ptrdiff_t j, ptrdiff_t n, char *to,
                            ptrdiff_t stride)
{
    if (u->elements.dtype == ATTN_I8)
        widen_rows(ROWS_OF_INTEGERS, u, j, n, stride, to);
    else
        widen_rows(ROWS_OF_FLOATS, u, j, n, stride, to);
}

/* Rows of a block's keys or values, 16 at a time, for loading as tiles: where they lie if every 32 dimensions
 * are one cache line (a row that straddles lines takes six times as long), else copied.  Rows of `unsafe`
 * keys count as 0.  Returns the number of groups; entries behind them repeat existing ones. */
static int groups_of(const struct cache *c, const struct axis *axis, char *copy, uint64_t unsafe,
                     const struct block *b, struct rows rows[BLOCK_GROUPS])
{
    const ptrdiff_t bytes = (ptrdiff_t)geometry_products(axis->dim) * TILE_ROW_BYTES;
    const bool lines = axis->bytes == bytes && c->stride % TILE_ROW_BYTES == 0;
    int groups = 0;
    for (ptrdiff_t j = b->j; j < b->end; j += GROUP_KEYS, groups++, unsafe >>= GROUP_KEYS) {
        const ptrdiff_t left = b->end - j, n = left < GROUP_KEYS ? left : GROUP_KEYS;
        char *to = copy + groups * GROUP_KEYS * bytes;
        rows[groups] = cache_rows(c, j);
        if (!lines || (uintptr_t)rows[groups].data % TILE_ROW_BYTES || n < GROUP_KEYS ||
            !keys_together(&c->keys, j, n) || unsafe & bits_first(GROUP_KEYS))
            rows[groups] = cache_copy(c, j, n, GROUP_KEYS, axis->bytes, bytes, to);
        for (uint64_t bits = unsafe & bits_first(GROUP_KEYS); bits; bits &= bits - 1)
            memset(to + __builtin_ctzll(bits) * bytes, 0, (size_t)bytes);
    }
    for (int i = groups; i < BLOCK_GROUPS; i++)
        rows[i] = rows[0];
    return groups;
}

/* ---- scores --------------------------------------------------------------------------------- */

/* Rows of a block's keys that are in the unit's copy, as groups_of(). */
static int groups_in_copy(const struct unit *u, const struct block *b, struct rows k[BLOCK_GROUPS])
{
    const ptrdiff_t stride = (ptrdiff_t)geometry_products(u->g->qk.dim) * TILE_ROW_BYTES;
    const int groups = (int)((b->end - b->j + GROUP_KEYS - 1) / GROUP_KEYS);
    for (int i = 0; i < BLOCK_GROUPS; i++)
        k[i] = (struct rows){u->k_copy + (i < groups ? i : 0) * GROUP_KEYS * stride, stride};
    return groups;
}

/* Rows of a block's keys, 16 at a time, as groups_of(): of 8 bits widened, in the unit's copy. */
static int key_groups(const struct unit *u, const struct block *b, struct rows k[BLOCK_GROUPS])
{
    if (!FORMAT_SCALED(u->g->format))
        return groups_of(&u->k, &u->g->qk, u->k_copy, 0, b, k);
    const int groups = groups_in_copy(u, b, k);
    for (int i = 0; i < groups; i++) {
        const ptrdiff_t j = b->j + i * GROUP_KEYS, left = b->end - j;
        widen_keys(u, j, left < GROUP_KEYS ? left : GROUP_KEYS,
                   u->k_copy + i * GROUP_KEYS * k[i].stride, k[i].stride);
    }
    return groups;
}

/* Scores of a strip of a block for all rows that are two tiles. */
static void score_strip(const struct unit *u, const struct rows k[2], int strip)
{
    float *const s = u->p + strip * STRIP_KEYS * TILE_ROWS;
    for (int i = 0; i + 1 < row_tiles(u); i += 2) {
        const struct queries q = queries_from(u, i);
        score_two(k, &q, s + i * SCORES);
    }
}

/* Rows [j, j + n) of K or V, as far as there are so many, to be fetched beside `products`. */
static struct fetching fetch_later(const struct unit *u, const struct cache *c,
                                   const struct axis *axis, ptrdiff_t j, ptrdiff_t n,
                                   size_t products)
{
    const ptrdiff_t all = (ptrdiff_t)geometry_keys(u->g, &u->block.sequence);
    return (struct fetching){c, j, j + n < all ? j + n : all, axis->bytes, (int)products, 0};
}

/* Those of a whole block for a tile that is left. */
static void score_last(const struct unit *u, const struct block *b,
                       const struct rows k[BLOCK_GROUPS], int groups, int strip)
{
    const int i = row_tiles(u) - 1;
    const struct queries q = queries_from(u, i);
    struct fetching ahead = fetch_later(u, &u->k, &u->g->qk, b->j + K_AHEAD_BLOCKS * BLOCK_KEYS,
                                        BLOCK_KEYS, q.steps * BLOCK_GROUPS);
    if (!in_place(u)) /* beside packing */
        ahead.j = ahead.end;
    if (row_tiles(u) % 2)
        score_one(k, groups, &q, u->p + i * SCORES + strip * STRIP_KEYS * TILE_ROWS, &ahead);
}
