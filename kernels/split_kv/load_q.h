/*
 * load_q.h: part of kernel split_kv: a unit's rows cut into tiles, and their Q in the order of the products.
 */
#pragma once

#include "scores.h"
#include "unit.h"

/* ---- Q -------------------------------------------------------------------------------------- */

#if BYTE_PAIRS
/* A row of Q, in bf16, in the order of load_k_of_bytes(); times the scales of K's channels, if any, in
 * parts. */
VF_NOINLINE void load_q_for_byte_pairs(const struct unit *u, const char *from, int rows, float *q)
{
    enum { RUN = 8, STEP = VF_BYTES }; /* dimensions; those of a run are neighbours */
    const size_t dim = (size_t)u->g->qk.dim, all = (size_t)u->g->qk.steps * STEP;
    const size_t part_floats = all * (size_t)rows / 2;
    const float *scale = u->scaling.channels ? attn_row_f32(&u->t->k_scale, u->block.b, u->block.g,
                                                            u->block.sequence.kv_first)
                                             : NULL;
    for (size_t d = 0; d < all; d += RUN) {
        const size_t n = d < dim ? geometry_minimum(dim - d, RUN) : 0;
        const size_t vector = d / STEP * 2 * (size_t)rows + d / RUN % 2;
        float *const to = q + vector * VF_LANES + d % STEP / (2 * RUN) * (RUN / 2);
        if (n == RUN && !scale) {
            memcpy(to, from + d * sizeof(uint16_t), RUN * sizeof(uint16_t));
            continue;
        }
        uint16_t x[Q_PARTS * RUN] = {0};
        memcpy(x, from + d * sizeof *x, n * sizeof *x);
        for (size_t i = 0; scale && i < n; i++)
            split_product(x[i], scale[d + i], &x[i], RUN);
        for (int part = 0; part < parts_of_queries(u); part++)
            memcpy(to + (size_t)part * part_floats, x + part * RUN, RUN * sizeof *x);
    }
}
#else
/* Elements of Q times scales of K's channels.  A product that rounds to 0 becomes the smallest normal number: times
 * an infinite key 0 would be NaN. */
static vf times_scales(vf q, vf scale)
{
    const vf x = q * scale, none = vf_set1(0);
    const vi lost = (vi)(x == none) & (vi)(q != none) & (vi)(scale != none);
    return (vf)((vi)x | (lost & 0x00800000));
}

/* A row of Q for keys of 8 bits that are widened to f32, in memory order, times the scales of K's channels, if
 * any. */
VF_NOINLINE void load_q_for_bytes(const struct unit *u, const char *from, int rows, float *q)
{
    const size_t dim = (size_t)u->g->qk.dim, element = attn_dtype_size(u->t->q.dtype);
    const struct attn_tensor *scale = &u->t->k_scale;
    const float *factor =
        scale->stride[3] ? attn_row_f32(scale, u->block.b, u->block.g, u->block.sequence.kv_first)
                         : NULL;
    const size_t all = (size_t)u->g->q_floats;
    for (size_t d = 0; d < all; d += VF_LANES) {
        const size_t n = d < dim ? geometry_minimum(dim - d, VF_LANES) : 0;
        vf x = vf_load_elements(u->t->q.dtype, from + d * element, n);
        if (factor && n)
            x = times_scales(x, vf_load_elements(ATTN_F32, factor + d, n));
        vf_store(q + d / (2 * VF_LANES) * 2 * VF_LANES * (size_t)rows + d % (2 * VF_LANES), x);
    }
}

#endif

#if BYTE_PAIRS
/* Row number `row` of a tile's Q, in bf16, for keys of 4 bits: of each step the even elements, then the odd
 * ones.  Behind these floats of all rows are their elements in bf16, in pairs that are four apart
 * (nibble_pairs.h). */
static void load_q_for_nibbles(const struct unit *u, const char *from, int row, int rows, float *q)
{
    const ptrdiff_t dim = u->g->qk.dim, steps = u->g->qk.steps;
    bf16_vector fours;
    for (int i = 0; i < 2 * VF_LANES; i++)
        fours[i] = (uint16_t)(i / 8 * 8 + i % 2 * 4 + i % 8 / 2);
    for (ptrdiff_t i = 0; i < steps; i++) {
        const ptrdiff_t left = dim - i * 2 * VF_LANES;
        vi step;
        vf x[2];
        if (left < 2 * VF_LANES)
            step = vi_load_bytes(from + i * VF_BYTES, (size_t)left * sizeof(uint16_t));
        else
            memcpy(&step, from + i * VF_BYTES, sizeof step);
        widen_pairs(step, x);
        vf_store(q + (i * rows + row) * 2 * VF_LANES, x[0]);
        vf_store(q + (i * rows + row) * 2 * VF_LANES + VF_LANES, x[1]);
        vf_store(q + (steps * rows * 2 + i * rows + row) * VF_LANES,
                 (vf)bf16_permute((bf16_vector)step, fours));
    }
}
#else
/* Row number `row` of a tile's Q for keys of 4 bits: of each step the even elements, then the odd ones. */
VF_NOINLINE void load_q_for_nibbles(const struct unit *u, const char *from, int row, int rows,
                                    float *q)
{
    const size_t dim = (size_t)u->g->qk.dim, element = attn_dtype_size(u->t->q.dtype);
    const size_t all = (size_t)u->g->q_floats, step = 2 * VF_LANES;
    q += row * (int)step;
    for (size_t d = 0; d < all; d += VF_LANES) {
        float x[VF_LANES];
        const size_t n = d < dim ? geometry_minimum(dim - d, VF_LANES) : 0;
        vf_store(x, vf_load_elements(u->t->q.dtype, from + d * element, n));
        for (size_t i = 0; i < VF_LANES; i++)
            q[d / step * step * (size_t)rows + (d + i) % 2 * VF_LANES + (d + i) % step / 2] = x[i];
    }
}
#endif

/* Rows of Q in the order of struct tile, 0 past the end of a row. */
static void load_q(const struct unit *u, int row, int rows, float *q)
{
    const struct geometry *g = u->g;
    const int w = FORMAT_K_VECTORS(g->format);
#if VF_LANES == 2 * LANE_ROWS
    if (rows == LANE_ROWS) {
        const char *from[LANE_ROWS];
        for (int h = 0; h < LANE_ROWS; h++)
            from[h] = unit_row(u, &u->t->q, row + h);
        load_q_pieces(g->format, q, from, &g->qk);
        return;
    }
#endif
    for (int h = 0; h < rows; h++) {
        const char *from = unit_row(u, &u->t->q, row + h);
        if (g->format == FORMAT_I4) {
            load_q_for_nibbles(u, from, h, rows, q);
            continue;
        }
#if BYTE_PAIRS
        if (FORMAT_SCALED(g->format)) {
            load_q_for_byte_pairs(u, from, rows, q + h * w * VF_LANES);
            continue;
        }
#else
        if (FORMAT_SCALED(g->format)) {
            load_q_for_bytes(u, from, rows, q + h * w * VF_LANES);
            continue;
        }
#endif
        for (ptrdiff_t x = 0; x < g->qk.steps; x++) {
            vf step[2];
            load_k(g->format, x < g->qk.full ? 0 : g->qk.tail, from + x * VF_BYTES, step);
            for (int i = 0; i < w; i++)
                vf_store(q + ((x * rows + h) * w + i) * VF_LANES, step[i]);
        }
    }
}

/* Cuts the rows into tiles of 8, 8, .. 4, 2, 1 that have seen no key yet, without Q.  Their O, which is not
 * written, is that of the part. */
static void cut_tiles(struct unit *u, float *o)
{
    const struct geometry *g = u->g;
    const struct attn_problem *problem = u->block.problem;
    u->tiles = 0;
    for (int row = 0; row < u->rows; row += u->tile[u->tiles++].rows) {
        int rows = g->tile_rows;
        while (rows > u->rows - row)
            rows /= 2;
        struct tile *t = &u->tile[u->tiles];
        *t = (struct tile){.rows = rows,
                           .keys = VF_LANES / rows,
                           .q = u->q + row * g->q_floats,
                           .unit = u->scaling.k,
                           .scale = u->scaling.natural ? attn_problem_scale(problem)
                                                       : softmax_scale(problem),
                           .bits = u->scaling.natural ? SOFTMAX_LOG2E : 1,
                           .p = u->p + row * g->block_keys,
                           .o = o + row * g->o_floats,
                           .o_floats = g->o_floats};
        for (int lane = 0; lane < VF_LANES; lane++)
            t->limit[lane] = -INFINITY;
        if (problem->options & ATTN_OPTION_ALIBI)
            place_rows(u, t, row);
    }
}

static void load_tiles(const struct unit *u)
{
    for (int i = 0, row = 0; i < u->tiles; row += u->tile[i++].rows)
        load_q(u, row, u->tile[i].rows, u->q + row * u->g->q_floats);
}

/* All that tiles which have seen no key need. */
static void start_tiles(struct unit *u, float *o)
{
    memset(o, 0, (size_t)(u->rows * u->g->o_floats) * sizeof(float));
    cut_tiles(u, o);
    load_tiles(u);
}
