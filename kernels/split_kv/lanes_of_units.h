/*
 * lanes_of_units.h: part of kernel split_kv: gathers the rows of several units in tiles of lanes
 * (row_lanes.h), and gives the units the state that these end with.
 */
#pragma once

#include "row_lanes.h"

/* Rows of n units. */
struct lanes_rows {
    struct unit *u;
    int n, rows, height; /* units, rows of each, and of each tile of a unit */
};

/* Place of pair `pair` of a row, of `pairs`, among the steps of all chains, in the order that row_lanes.h
 * adds them up. */
static ptrdiff_t place_of_pair(const struct lanes *t, ptrdiff_t pair, ptrdiff_t pairs)
{
    static const int turn[] = {0, 4, 2, 6, 1, 5, 3, 7}; /* its own inverse */
    if (t->pieces)
        return pair;
    const ptrdiff_t lane = pair % VF_LANES, steps = pairs / VF_LANES;
    return (turn[lane % 8] * steps + pair / VF_LANES) * 2 + lane / 8;
}

/* Addresses of rows of Q from row `first` of all on, `rows` of them; then that of the first again. */
static void find_lanes(const struct lanes_rows *all, int first, int rows, const char *row[VF_LANES])
{
    const struct unit *u = &all->u[first / all->rows];
    for (int i = 0, r = first % all->rows; i < VF_LANES; i++, r++) {
        if (r == all->rows) {
            u++;
            r = 0;
        }
        row[i] = i < rows ? unit_row(u, &u->t->q, r) : row[0];
    }
}

/* Gathers the tile's rows of Q, the first being row `first` of all. */
static void load_lanes(const struct lanes_rows *all, struct lanes *t, int first)
{
    const ptrdiff_t bytes = all->u->g->qk.bytes, pairs = bytes / (ptrdiff_t)sizeof(float);
    for (int c = 0; c < t->cols; c++) {
        const char *row[VF_LANES];
        find_lanes(all, first + c * VF_LANES, t->rows - c * VF_LANES, row);
        for (ptrdiff_t x = 0; x < pairs; x += VF_LANES) {
            vf q[VF_LANES];
            VF_UNROLL
            for (int i = 0; i < VF_LANES; i++)
                memcpy(&q[i], row[i] + x * (ptrdiff_t)sizeof(float), sizeof q[i]);
            transpose(q);
            VF_UNROLL
            for (int i = 0; i < VF_LANES; i++)
                vf_store(t->q + place_of_pair(t, x + i, pairs) * LANES_TILE + c * VF_LANES, q[i]);
        }
    }
}

/* Starts the tile of rows from row `first` of all on. */
static void start_lanes_tile(const struct lanes_rows *all, struct lanes *t, int first,
                             char *scratch)
{
    const struct geometry *g = all->u->g;
    const int rows = all->n * all->rows - first;
    *t = (struct lanes){.rows = rows < LANES_TILE ? rows : LANES_TILE,
                        .cols = rows > VF_LANES ? 2 : 1,
                        .parts = VF_LANES / all->height,
                        .pieces = all->height == LANE_ROWS,
                        .scale = softmax_scale(all->u->block.problem),
                        .fresh = true,
                        .q = (float *)(scratch + g->lanes[LANES_Q]) + first * g->q_floats,
                        .o = (float *)(scratch + g->lanes[LANES_O]) + first * g->o_floats,
                        .s = (float *)(scratch + g->lanes[LANES_S]),
                        .p = (float *)(scratch + g->lanes[LANES_P])};
    for (int c = 0; c < LANES_COLS; c++)
        t->limit[c] = vf_set1(-INFINITY);
    load_lanes(all, t, first);
}

/* Starts the tiles of all rows; returns how many there are. */
static int start_lanes(const struct lanes_rows *all, struct lanes *tile, char *scratch)
{
    int tiles = 0;
    for (int first = 0; first < all->n * all->rows; first += LANES_TILE)
        start_lanes_tile(all, &tile[tiles++], first, scratch);
    return tiles;
}

/* Gives the shift and the sums of a lane of column c to row `row` of a unit's tile. */
static void leave_sums(const struct lanes *t, int c, int lane, struct tile *to, int row)
{
    for (int i = 0; i < t->parts; i++) {
        const int at = i * to->rows + row;
        to->shift[at] = t->shift[c][lane];
        to->limit[at] = t->limit[c][lane];
        to->sum[at] = t->sum[i][c][lane];
    }
}

/* Gives the units the state of their rows. */
static void leave_lanes(const struct lanes_rows *all, const struct lanes *t, int first)
{
    const ptrdiff_t o_floats = all->u->g->o_floats;
    assert(!t->fresh);
    for (int c = 0; c < t->cols; c++) {
        struct tile *to[VF_LANES];
        int row[VF_LANES], n = 0;
        for (; n < VF_LANES && c * VF_LANES + n < t->rows; n++) {
            const int r = first + c * VF_LANES + n;
            to[n] = &all->u[r / all->rows].tile[r % all->rows / all->height];
            row[n] = r % all->rows % all->height;
            leave_sums(t, c, n, to[n], row[n]);
        }
        for (ptrdiff_t d = 0; d < o_floats; d += VF_LANES) {
            vf o[VF_LANES];
            for (int i = 0; i < VF_LANES; i++)
                o[i] = vf_load(t->o + (d + i) * LANES_TILE + c * VF_LANES);
            transpose(o);
            for (int i = 0; i < n; i++)
                vf_store(to[i]->o + row[i] * o_floats + d, o[i]);
        }
    }
}
