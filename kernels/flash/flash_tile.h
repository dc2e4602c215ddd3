/*
 * flash_tile.h: part of kernel flash: its sizes, and a tile of queries with the state of its softmax.
 *
 * A tile is FLASH_TILE queries that share a KV head, one in each lane of FLASH_COLS vectors (the
 * tile's columns).  Scores, weights and results are kept transposed, one row of FLASH_TILE floats
 * per key or per value dimension, so that maximum, sum, rescaling and mask act on whole vectors
 * and never across lanes.
 */
#ifndef ATTN_FLASH_TILE_H
#define ATTN_FLASH_TILE_H

#include <math.h>

#include "shared/exp2.h"
#include "shared/prefetch.h"
#include "shared/softcap.h"
#include "shared/tasks.h"

/* ---- sizes ----------------------------------------------------------------------------------- */

/* For two multiply-add units of 512 bits, whose exponentials compete with multiply-adds: weights are made
 * where the scores are (direct.h), and the loops of products prefetch. flash.c says why. */
#ifdef VF_TWO_FMA_UNITS
#define FLASH_DIRECT 1
#define FLASH_COLS 4
#else
#define FLASH_DIRECT 0
#define FLASH_COLS 2
#endif
#define FLASH_TILE (FLASH_COLS * VF_LANES)
#define FLASH_STRIPS (2 * FLASH_COLS - 1) /* of a block: strips.h */

/* Rows of the register tile: FLASH_COLS vectors each, beside two operands and a broadcast value, or a
 * vector of values for each row (VF_FACTOR_IN_LANE).  32 registers hold 6 x 4, or 8 x 2 with room for the
 * compiler's temporaries, 16 hold 6 x 2. */
#if VF_REGISTERS == 32 && !FLASH_DIRECT
#define FLASH_ROWS 8
#else
#define FLASH_ROWS 6
#endif

/* With four columns, one or two alone take higher register tiles: 6 sums would not hide the latency. */
#define FLASH_HIGHEST (FLASH_DIRECT ? 12 : FLASH_ROWS)

/* Keys of a block, a multiple of FLASH_ROWS.  AArch64's were chosen by a model without caches. */
#ifndef FLASH_KEYS
#define FLASH_KEYS              \
    (FLASH_DIRECT         ? 128 \
     : FLASH_ROWS < 8     ? 240 \
     : !VF_FACTOR_IN_LANE ? 256 \
     : VF_BYTES > 16      ? 128 \
                          : 512)
#endif

/* Register tiles per call, one after the other: those of AArch64 are so short that calls cost a part of
 * their time.  With vectors longer than 128 bits GCC 12 would then copy sums in the loops of scores. */
#define FLASH_STACK (VF_FACTOR_IN_LANE && VF_BYTES == 16 ? 4 : 1)

/* Tiles that share each block of K and V while it is in the second-level cache: 256 queries at avx512, 128
 * on AArch64. */
#ifndef FLASH_TILES
#define FLASH_TILES (VF_FACTOR_IN_LANE ? 128 / FLASH_TILE : 16 / FLASH_COLS)
#endif

/* Floats that the packed K and V of a block need, their dimensions rounded up to vectors. */
#define FLASH_PACKED(dims) (FLASH_KEYS * ((dims) + 2 * VF_LANES))

/* ---- what is worked on ----------------------------------------------------------------------- */

/* What the call needs, gathered once. */
struct job {
    const struct attn_problem *problem;
    const struct attn_tensors *tensors;
    struct tasks tasks; /* of whole tiles, but for the last task of a KV head */
    int qk_dim, v_dim;
    bool terms;   /* scores have terms beside the product, or masks by element: flash_terms.h */
    bool natural; /* something is added to the scores, or they are capped */
    float scale;  /* of the scores, times log2(e): the softmax is one of powers of two; not
                           where they are natural: log2(e) times the largest bias is infinite */
    float unit;   /* factor from a score difference to a base-2 exponent */
    struct softcap cap; /* of natural scores */
    const size_t
        *shared; /* by sequence: keys that it begins with as the one before does; NULL: none */
};

/* What a tile's lanes add to their scores. */
struct lane_terms {
    char *bias[FLASH_TILE]; /* each lane's row, from key 0 */
    char *mask[FLASH_TILE];
    bool one_bias;         /* these are all the same row */
    vf slope[FLASH_COLS];  /* of ALiBi, which counts from `position`, */
    vf behind[FLASH_COLS]; /* more by these */
    ptrdiff_t position;
};

/* A tile of queries.  Lanes that have no query are computed as well; their results are ignored. */
struct tile {
    struct group_block column[FLASH_COLS];    /* the queries */
    int rows;                                 /* of all columns */
    ptrdiff_t lo[FLASH_TILE], hi[FLASH_TILE]; /* keys that each sees, where places decide */
    vf m[FLASH_COLS];        /* subtracted from the scores: within 8 of the maximum so far */
    vf limit[FLASH_COLS];    /* m rises when a score exceeds it by more: 8; -inf: no key seen yet */
    vf floor[FLASH_COLS];    /* a score less m below this may be stored as this */
    vf l[FLASH_COLS];        /* sum of the weights */
    vf inverse[FLASH_COLS];  /* factor from o to the results (1/l), when all keys are seen */
    float *q;                /* [qk_dim][FLASH_TILE] queries, scaled */
    float *o;                /* [v_dim][FLASH_TILE] weighted sum of values, not yet divided by l */
    bool started;            /* o holds something */
    struct lane_terms terms; /* where the job has them */
    struct attn_tree tree;   /* likewise */
};

/* What is known of a block's values. */
enum values { VALUES_UNKNOWN, VALUES_FINITE, VALUES_NOT_FINITE };

/* A block of keys at work. */
struct block {
    const struct job *job;
    struct keys source;
    struct prefetch *prefetch;
    const void *k, *v; /* rows of its first key, as pack() left them */
    ptrdiff_t k_stride, v_stride;
    void *packed;    /* FLASH_PACKED(qk_dim + v_dim) floats, where pack() copies */
    ptrdiff_t first; /* index of the first key */
    int keys;
    bool whole; /* ends after FLASH_KEYS or with the sequence, not where its task's queries do */
    bool packed_yet;         /* pack() has been called */
    enum values values;      /* of all keys: neither infinite nor NaN */
    const uint64_t *seen_by; /* by row: a bit for each lane that sees the key by its tree or of its
                                list; NULL: all */
    float *s;                /* [FLASH_KEYS][FLASH_TILE] scores, then weights or pairs of them */
};

/* Some rows of the block's scores, and the columns of the tile that see them. */
struct strip {
    int col, cols;
    int from, to;           /* rows, counted from the block's first key */
    int full_from, full_to; /* rows that all of these columns' queries see */
};

/* Rows of a block that each lane of a column sees by position, [lo, hi). */
struct lane_range {
    vi lo, hi;
};

static inline vi seeing_lanes(const struct lane_range *lanes, int row)
{
    const vi j = row - (vi){0};
    return (vi)(lanes->lo <= j) & (vi)(j < lanes->hi);
}

/* ---- register tiles -------------------------------------------------------------------------- */

VF_INLINE void clear_sums(const int rows, const int cols, vf acc[FLASH_HIGHEST][FLASH_COLS])
{
    VF_UNROLL
    for (int r = 0; r < rows; r++) {
        VF_UNROLL
        for (int c = 0; c < cols; c++)
#if VF_FACTOR_IN_LANE /* each by itself: GCC 12 copies one, which takes a turn of the multipliers */
            acc[r][c] = vf_product(vf_set1(0));
#else
            acc[r][c] = vf_set1(0);
#endif
    }
}

VF_INLINE void start_sums(const int rows, const int cols, const vf *start,
                          vf acc[FLASH_HIGHEST][FLASH_COLS])
{
    VF_UNROLL
    for (int r = 0; r < rows; r++) {
        VF_UNROLL
        for (int c = 0; c < cols; c++)
            acc[r][c] = start[c];
    }
}

/*
 * Products with unscaled queries become scores, each rounded before m is subtracted, as m is a rounded
 * score.  One FMA for both would leave m's rounding error, half an ulp, as the exponent of the largest
 * weight: from scores of 2^31 on that is more than exponents can be.
 */
VF_INLINE void scale_scores(const int rows, const int cols, float scale,
                            vf acc[FLASH_HIGHEST][FLASH_COLS])
{
    VF_UNROLL
    for (int r = 0; r < rows; r++) {
        VF_UNROLL
        for (int c = 0; c < cols; c++)
            acc[r][c] = vf_product(acc[r][c] * scale);
    }
}

/* Where products of K and Q become scores, and what they are compared with. */
struct score_target {
    float *s;
    const vf *m, *floor;
    vf *top;
};

/* Scores less m, not below the floor, for `rows` keys and `cols` vectors of queries; raises top.
 * m and floor are copied first, as storing scores might change them in memory for all the compiler
 * knows. */
VF_INLINE void store_scores(const int rows, const int cols, const struct score_target *to,
                            vf acc[FLASH_HIGHEST][FLASH_COLS])
{
    VF_UNROLL
    for (int c = 0; c < cols; c++) {
        const vf m = to->m[c], floor = to->floor[c];
        vf top = to->top[c];
#if VF_FACTOR_IN_LANE /* of pairs first: a maximum waits for the one before it */
        vf other = top;
        VF_UNROLL
        for (int r = 0; r < rows; r++) {
            const vf x = vf_at_least(floor, acc[r][c] - m);
            vf_store(to->s + r * FLASH_TILE + c * VF_LANES, x);
            if (r % 2 || r + 1 == rows)
                top = vf_max(vf_max(x, other), top);
            else
                other = x;
        }
#else
        VF_UNROLL
        for (int r = 0; r < rows; r++) {
            const vf x = vf_at_least(floor, acc[r][c] - m);
            vf_store(to->s + r * FLASH_TILE + c * VF_LANES, x);
            top = vf_max(x, top);
        }
#endif
        to->top[c] = top;
    }
}

/* How scores become exponents of two. */
enum exponent {
    EXPONENT_READY,   /* they are, and not below EXP2_FLOOR */
    EXPONENT_SHIFTED, /* when `shift` is subtracted */
    EXPONENT_SCALED   /* ... and the difference is multiplied by `unit` */
};

VF_INLINE vf exponential(const enum exponent kind, vf x, const vf *shift, float unit)
{
    return kind == EXPONENT_READY     ? exp2_above_floor(x)
           : kind == EXPONENT_SHIFTED ? exp2_any(x - *shift)
                                      : exp2_any((x - *shift) * unit);
}

/* What the scores of a register tile are made of. */
struct score_args {
    const void *k; /* its first key */
    ptrdiff_t k_stride;
    const float *q;
    int dim; /* dimensions, or groups of PAIR */
    float scale;
    struct score_target to;
    const vf *start;    /* what sums of each column begin at, and */
    struct fetch fetch; /* what to fetch meanwhile, both where FLASH_DIRECT */
};

/* What the weights of a register tile are made of, where they are made of scores in registers. */
struct weigh_args {
    struct score_args scores;       /* start: -m of each column, or infinity: no key seen yet */
    const struct lane_range *lanes; /* of each column; NULL: all see all */
    int row;                        /* of the block */
    vf *l;
    bool *fit; /* set to whether none is too large for m to stay: only then l has grown */
};

/* What the results of a register tile are made of. */
struct value_args {
    const void *v; /* its first value dimension */
    ptrdiff_t v_stride;
    const float *p; /* weights */
    int steps;      /* keys, or groups of PAIR; not 0 */
    float *o;
    bool fresh;         /* o holds nothing yet */
    struct fetch fetch; /* as above */
};

VF_INLINE void store_results(const int rows, const int cols, float *o,
                             vf acc[FLASH_HIGHEST][FLASH_COLS])
{
    VF_UNROLL
    for (int r = 0; r < rows; r++) {
        VF_UNROLL
        for (int c = 0; c < cols; c++)
            vf_store(o + r * FLASH_TILE + c * VF_LANES, acc[r][c]);
    }
}

/* Adds the sums of a block's keys to the results: rounding errors grow with the number of blocks, not
 * with that of keys. */
VF_INLINE void add_results(const int rows, const int cols, const struct value_args *a,
                           vf acc[FLASH_HIGHEST][FLASH_COLS])
{
    if (!a->fresh) {
        VF_UNROLL
        for (int r = 0; r < rows; r++) {
            VF_UNROLL
            for (int c = 0; c < cols; c++)
                acc[r][c] += vf_load(a->o + r * FLASH_TILE + c * VF_LANES);
        }
    }
    store_results(rows, cols, a->o, acc);
}

#endif
