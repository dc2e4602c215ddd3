/*
 * tiled_tile.h: part of kernel tiled: a tile of queries, and a block's product with it.
 */
#pragma once

#include "shared/group.h"
#include "shared/keys.h"
#include "shared/terms.h"

enum {
    TILE = 64,             /* query rows computed together */
    KEYS = 64,             /* keys a block: 16 KB of K at D = 64 in f32, half of an L1 */
    COLUMN = 2 * VF_LANES, /* rows whose results are in registers at once: two vectors */
#if VF_REGISTERS == 32
    STEPS = 8 /* by COLUMN: 16 of 32 registers hold sums, 10 loads feed 16 multiply-adds */
#else
    STEPS = 4 /* 8 of 16 registers */
#endif
};

/* What a thread works on.  Arrays are [..][TILE]: one row of the tile per lane. */
struct tile {
    struct group_block rows;
    struct keys source;
    const struct attn_tensors *t;
    ptrdiff_t columns; /* COLUMNs in use, the last one possibly in part */
    real_int lo[TILE], hi[TILE];
    real m[TILE], l[TILE], sink[TILE];
    struct terms terms[TILE];
    real *q;     /* qk_dim x TILE, times the scale */
    real *s;     /* kv_len x TILE: scores, then weights before division by l */
    real *o;     /* v_dim x TILE */
    real *copy;  /* of a block's K or V */
    real *added; /* KEYS x TILE, to a block's scores; -inf: hidden */
};

/* c[n][COLUMN] = or += sum over k of a[n][k] b[k][COLUMN], for n < steps, a constant.  The sum is made by
 * itself and added once: over many blocks of keys errors grow with their number. */
static inline __attribute__((always_inline)) void product_steps(real *c, const real *a,
                                                                ptrdiff_t a_n, ptrdiff_t a_k,
                                                                const real *b, ptrdiff_t depth,
                                                                bool add, int steps)
{
    vf sum[STEPS][2];
    for (int n = 0; n < steps; n++) {
        sum[n][0] = (vf){0};
        sum[n][1] = (vf){0};
    }
    for (ptrdiff_t k = 0; k < depth; k++) {
        const vf b0 = vf_load(b + k * TILE), b1 = vf_load(b + k * TILE + VF_LANES);
        for (int n = 0; n < steps; n++) {
            const vf x = vf_set1(a[n * a_n + k * a_k]);
            sum[n][0] += x * b0;
            sum[n][1] += x * b1;
        }
    }
    for (int n = 0; n < steps; n++) {
        vf_store(c + n * TILE, add ? vf_load(c + n * TILE) + sum[n][0] : sum[n][0]);
        vf_store(c + n * TILE + VF_LANES,
                 add ? vf_load(c + n * TILE + VF_LANES) + sum[n][1] : sum[n][1]);
    }
}

/* c[n][r] = or += sum over k < depth of a[n][k] b[k][r], for n < count and every row r of the
 * tile; a_n and a_k are the strides of a. */
static inline __attribute__((always_inline)) void
product(const struct tile *tile, real *c, const real *a, ptrdiff_t a_n, ptrdiff_t a_k,
        const real *b, ptrdiff_t count, ptrdiff_t depth, bool add)
{
    for (ptrdiff_t column = 0; column < tile->columns * COLUMN; column += COLUMN) {
        ptrdiff_t n = 0;
        for (; n + STEPS <= count; n += STEPS)
            product_steps(c + n * TILE + column, a + n * a_n, a_n, a_k, b + column, depth, add,
                          STEPS);
        for (; n < count; n++)
            product_steps(c + n * TILE + column, a + n * a_n, a_n, a_k, b + column, depth, add, 1);
    }
}

/* All ones in the lanes of rows r, r + 1, ... that positional masks leave key j. */
static vi sees(const struct tile *tile, ptrdiff_t r, ptrdiff_t j)
{
    vi lo, hi;
    memcpy(&lo, tile->lo + r, sizeof lo);
    memcpy(&hi, tile->hi + r, sizeof hi);
    const vi key = (real_int)j - (vi){0};
    return (vi)(lo <= key) & (vi)(key < hi);
}
