/*
 * flash_tile.h: part of kernel flash: a tile of queries with the state of its softmax, and a block of keys.
 *
 * A tile is FLASH_TILE queries that share a KV head, one in each lane of FLASH_COLS vectors (the
 * tile's columns).  Scores, weights and results are kept transposed, one row of FLASH_TILE floats
 * per key or per value dimension, so that maximum, sum, rescaling and mask act on whole vectors
 * and never across lanes.
 */
#pragma once

#include "shared/prefetch.h"
#include "shared/softcap.h"
#include "shared/tasks.h"
#include "flash_sizes.h"

/* What the call needs, gathered once. */
struct job {
    const struct attn_problem *problem;
    const struct attn_tensors *tensors;
    struct tasks tasks; /* of whole tiles, but for the last task of a KV head */
    int qk_dim, v_dim;
    bool terms;   /* scores have terms beside the product, or masks by element: flash_terms.h */
    bool natural; /* something is added to the scores, or they are capped */
    /* Of the scores, times log2(e) unless they are natural: log2(e) times the largest bias is infinite. */
    float scale;
    float unit;           /* factor from a score difference to a base-2 exponent */
    struct softcap cap;   /* of natural scores */
    const size_t *shared; /* by sequence: keys that it shares with the one before; NULL: none */
};

/* What a tile's lanes add to their scores. */
struct lane_terms {
    char *bias[FLASH_TILE]; /* each lane's row, from key 0 */
    char *mask[FLASH_TILE];
    bool one_bias;         /* these are all the same row */
    vf slope[FLASH_COLS];  /* of ALiBi, which counts from `position`, the first lane's */
    vf behind[FLASH_COLS]; /* each lane's position less that one */
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
