/*
 * matrix_unit.h: part of kernel tiled: operands as a matrix unit wants them, and their product.
 *
 * TILE_DOT_BF16 multiplies a tile of 16 rows of 32 bf16 by one of 32 rows of 16 columns and adds the product
 * to 16 x 16 floats: 8192 multiply-adds, where a vector instruction does 16 or 32.  Its left operand is rows
 * as they lie.  The right one holds pairs, since products are summed in pairs: word [k][c] of the tile is
 * elements 2k and 2k + 1 of column c.  So K and V are packed before they are multiplied:
 *
 *     S = Q K^T   a pair is two neighbours in a row of K, and the key is its column: a transpose of words
 *     O = P V     a pair is one column of two rows of V, which are interleaved
 *
 * Elements that fill a tile up are 0.
 */
#pragma once

#include "shared/group.h"
#include "shared/keys.h"
#include "tiles.h"

enum {
    SIDE = 16,  /* rows and columns of a product */
    DEPTH = 32, /* what it sums over: bf16 in a row of the left tile, rows in the right one */
    ROWS = 256  /* queries computed together: a packed tile serves 16 tiles of them */
};

enum { SUM, LEFT, RIGHT }; /* tiles of a product */

/* A right tile: 16 rows of 16 columns' pairs. */
typedef uint16_t pairs[SIDE][SIDE][2];

/* What a thread works on.  Rows are filled up to whole tiles; column 0 of s and p is key `first`. */
struct block {
    struct group_block rows;
    struct keys source;
    const struct attn_tensors *t;
    ptrdiff_t depth, width, columns; /* of q; of s and p; of o */
    ptrdiff_t first;
    uint16_t *q;   /* ROWS x depth */
    real *s;       /* ROWS x width: scores, then weights before division by the sum */
    real *o;       /* ROWS x columns */
    uint16_t *p;   /* ROWS x width: the weights in bf16 */
    pairs *packed; /* SIDE keys or DEPTH values */
    real m[ROWS], l[ROWS];
};

/* c = or += a b, 16 x 16 floats: the sum over `steps` tiles of a, side by side in its rows, and of b.
 * Strides of rows are in elements. */
static inline void multiply(float *c, ptrdiff_t c_stride, const uint16_t *a, ptrdiff_t a_stride,
                            const pairs *b, ptrdiff_t steps, bool add)
{
    if (add)
        TILE_LOAD(SUM, c, c_stride * 4);
    else
        TILE_ZERO(SUM);
    for (ptrdiff_t step = 0; step < steps; step++) {
        TILE_LOAD(LEFT, a + step * DEPTH, a_stride * 2);
        TILE_LOAD(RIGHT, b + step, TILE_ROW_BYTES);
        TILE_DOT_BF16(SUM, LEFT, RIGHT);
    }
    TILE_STORE(SUM, c, c_stride * 4);
}

/* Keys [j, j + n) as columns, n <= SIDE. */
static inline void pack_keys(struct block *block, ptrdiff_t j, ptrdiff_t n)
{
    const size_t dim = block->rows.problem->qk_dim;
    memset(block->packed, 0, (size_t)(block->depth / DEPTH) * sizeof(pairs));
    for (ptrdiff_t key = 0; key < n; key++) {
        const uint16_t *k = keys_row(&block->source, &block->t->k, j + key);
        for (size_t d = 0; d < dim; d++)
            block->packed[d / DEPTH][d % DEPTH / 2][key][d % 2] = k[d];
    }
}

static inline bool is_finite(uint16_t bf16)
{
    return (bf16 & 0x7f80) != 0x7f80;
}

/* Values of keys [j, j + n) as rows, n <= DEPTH; returns whether all are finite. */
static inline bool pack_values(struct block *block, ptrdiff_t j, ptrdiff_t n)
{
    const size_t dim = block->rows.problem->v_dim;
    bool all = true;
    memset(block->packed, 0, (size_t)(block->columns / SIDE) * sizeof(pairs));
    for (ptrdiff_t key = 0; key < n; key++) {
        const uint16_t *v = keys_row(&block->source, &block->t->v, j + key);
        for (size_t d = 0; d < dim; d++) {
            block->packed[d / SIDE][key / 2][d % SIDE][key % 2] = is_finite(v[d]) ? v[d] : 0;
            all &= is_finite(v[d]);
        }
    }
    return all;
}
