/*
 * flash_tile.h: a tile of queries of kernel flash, its softmax state and its masks.
 *
 * A tile is FLASH_TILE queries that share a KV head, one in each lane of FLASH_COLS vectors (the
 * tile's columns).  Scores, weights and results are kept transposed, one row of FLASH_TILE floats
 * per key or per value dimension, so that maximum, sum, rescaling and mask act on whole vectors
 * and never across lanes.
 *
 * Everything that depends on the element type stands behind struct flash_type.
 */
#ifndef ATTN_FLASH_TILE_H
#define ATTN_FLASH_TILE_H

#include <math.h>

#include "shared/exp2.h"
#include "flash_ahead.h"

#define FLASH_COLS 2
#define FLASH_TILE (FLASH_COLS * VF_LANES)

/* Rows of the register tile: FLASH_COLS vectors each, beside two operands and a broadcast value.
 * 32 registers hold 8 x 2 with room for the compiler's temporaries, 16 hold 6 x 2. */
#if VF_LANES == 16
#define FLASH_ROWS 8
#else
#define FLASH_ROWS 6
#endif

/* Keys of a block, a multiple of FLASH_ROWS: its scores fill half of a 32 KB L1 at avx512. */
#ifndef FLASH_KEYS
#define FLASH_KEYS (FLASH_ROWS == 8 ? 128 : 120)
#endif

/* Tiles that share each block of K and V while it is in the second-level cache. */
#ifndef FLASH_TILES
#define FLASH_TILES 4
#endif

/* Floats that the packed K and V of a block need, their dimensions rounded up to vectors. */
#define FLASH_PACKED(dims) (FLASH_KEYS * ((dims) + 2 * VF_LANES))

/* What the call needs, gathered once. */
struct flash_job {
    const struct attn_problem *problem;
    const struct attn_tensors *tensors;
    const struct flash_type *type;
    size_t *taken; /* tasks that threads have begun, all of them together */
    size_t rows;   /* of a task: whole tiles, but for the last task of a KV head */
    int qk_dim, v_dim;
    float scale; /* of the scores, times log2(e): the softmax is one of powers of two */
};

/* Rows of scores, relative to their block, and the columns of the tile that see them. */
struct flash_part {
    int col, cols;
    int from, to;
    int full_from, full_to; /* rows that all of these columns' queries see */
};

struct flash_tile {
    struct group_block column[FLASH_COLS]; /* the queries; lanes beyond compute what nobody reads */
    int rows;                              /* of all columns */
    vf m[FLASH_COLS];     /* subtracted from the scores: within 8 of the maximum so far */
    vf limit[FLASH_COLS]; /* m rises when a score exceeds it by more: 8; -inf: no key seen yet */
    vf floor[FLASH_COLS]; /* a score less m below this may be stored as this */
    vf l[FLASH_COLS];     /* sum of the weights */
    float *q;             /* [qk_dim][FLASH_TILE] queries, scaled */
    float *o;             /* [v_dim][FLASH_TILE] weighted sum of values, not yet divided by l */
    bool started;         /* o holds something */
};

/* A block of keys at work. */
struct flash_block {
    const struct flash_job *job;
    struct flash_ahead *ahead;
    const void *k, *v; /* rows of its first key, as the type's pack() left them */
    ptrdiff_t k_stride, v_stride;
    void *packed;    /* FLASH_PACKED(qk_dim + v_dim) floats, where the type has a pack() */
    ptrdiff_t first; /* index of the first key */
    int keys;
    float *s; /* [FLASH_KEYS][FLASH_TILE] scores, then weights or pairs of them */
};

/* Any number of rows is a sum of these heights, taken greedily. */
static const int flash_heights[] = {FLASH_ROWS, 4, 2, 1};

#define FLASH_SHAPES(F)                                               \
    {F##_full_1, F##_full_2}, {F##_4_1, F##_4_2}, {F##_2_1, F##_2_2}, \
    {                                                                 \
        F##_1_1, F##_1_2                                              \
    }
#define FLASH_SHAPE(F, A, name, rows, cols)               \
    static void F##_##name##_##cols(const struct A *args) \
    {                                                     \
        F(rows, cols, *args);                             \
    }
#define FLASH_DEFINE(F, A)                 \
    FLASH_SHAPE(F, A, full, FLASH_ROWS, 1) \
    FLASH_SHAPE(F, A, full, FLASH_ROWS, 2) \
    FLASH_SHAPE(F, A, 4, 4, 1)             \
    FLASH_SHAPE(F, A, 4, 4, 2)             \
    FLASH_SHAPE(F, A, 2, 2, 1)             \
    FLASH_SHAPE(F, A, 2, 2, 2)             \
    FLASH_SHAPE(F, A, 1, 1, 1)             \
    FLASH_SHAPE(F, A, 1, 1, 2)

/* The results that `rows` value dimensions and `cols` vectors of queries have in o so far, none of them
 * in a `fresh` one; and back. */
VF_INLINE void flash_results_load(const int rows, const int cols, const float *o, bool fresh,
                                  vf acc[FLASH_ROWS][FLASH_COLS])
{
    VF_UNROLL
    for (int r = 0; r < rows; r++) {
        VF_UNROLL
        for (int c = 0; c < cols; c++)
            acc[r][c] = fresh ? vf_set1(0) : vf_load(o + r * FLASH_TILE + c * VF_LANES);
    }
}

VF_INLINE void flash_results_store(const int rows, const int cols, float *o,
                                   vf acc[FLASH_ROWS][FLASH_COLS])
{
    VF_UNROLL
    for (int r = 0; r < rows; r++) {
        VF_UNROLL
        for (int c = 0; c < cols; c++)
            vf_store(o + r * FLASH_TILE + c * VF_LANES, acc[r][c]);
    }
}

VF_INLINE void flash_zero(const int rows, const int cols, vf acc[FLASH_ROWS][FLASH_COLS])
{
    VF_UNROLL
    for (int r = 0; r < rows; r++) {
        VF_UNROLL
        for (int c = 0; c < cols; c++)
            acc[r][c] = vf_set1(0);
    }
}

/* What the element type decides. */
struct flash_type {
    int pair; /* weights of so many neighbouring keys are used together: 1 or 2 */
    /* Optional: copies K and V of the block into block->packed as the others want them. */
    void (*pack)(struct flash_block *block);
    /* Fills t->q. */
    void (*load)(const struct flash_job *job, struct flash_tile *t);
    /* Scores less m of rows [from, to), not below the floor; raises top[] to their maximum. */
    void (*scores)(const struct flash_block *block, const struct flash_tile *t,
                   const struct flash_part *part, int from, int to, vf top[FLASH_COLS]);
    /* Scores become weights, 2^(score - shift), 2^score without shift; l grows by their sums. */
    void (*weights)(const struct flash_block *block, struct flash_tile *t,
                    const struct flash_part *part, const vf *shift);
    /* Optional: scores and weights of a block that all queries see whole, with l.  False: m turned out to
     * be too low to go on, and but for it nothing that counts has changed. */
    bool (*weigh)(const struct flash_block *block, struct flash_tile *t);
    /* o += weights * V of rows [from, to); `fresh`: o = that. */
    void (*values)(const struct flash_block *block, struct flash_tile *t,
                   const struct flash_part *part, int from, int to, bool fresh);
    /* Whether rows [from, to) of V hold neither infinity nor NaN. */
    bool (*finite)(const struct flash_block *block, int from, int to);
    /* Element d of row j of V; weights of row j in a column. */
    float (*value)(const struct flash_block *block, int j, int d);
    vf (*weight)(const struct flash_block *block, int j, int column);
    /* Divides o by l and writes the tile's results. */
    void (*store)(const struct flash_job *job, const struct flash_tile *t);
};

#endif
