/*
 * scratch.h: part of kernel flash for matrix units: sizes, and what a thread keeps.
 *
 * A tile holds 16 rows of 64 bytes.  Queries are taken 32 at a time (two tiles of A), keys in strips of 32
 * (two tiles of B), so that each tile that is loaded takes part in two products: 2 x 2 accumulators, 4 loads
 * for 4 products.  A row of scores of a strip is one vector of 32 weights in bfloat16, which is a row of A
 * again.
 */
#pragma once

#include <math.h>
#include <string.h>

#include "kernel.h"
#include "shared/group.h"
#include "shared/keys.h"
#include "shared/prefetch.h"
#include "shared/tasks.h"
#include "shared/terms.h"
#include "shared/tile_bytes.h"

enum {
    PAIR_ELEMENTS = 2 * TILE_ELEMENTS,
    BLOCK_ROWS = 32, /* queries of a block: two tiles */
    STRIP_KEYS = 32, /* keys of a strip: two tiles of their columns */
    JOB_STRIPS = 4,  /* strips of a job: softmax of one, beside the products of its neighbours */
    /* Kept: the job whose softmax is computed, the one before it and the two after. */
    KEPT_BLOCKS = 4, /* until their results are written */
    KEPT_TASKS = 4,  /* sets of packed keys, where there is room for so many */
    STRIP_SCORES = BLOCK_ROWS * STRIP_KEYS,
    RESULT_FLOATS = BLOCK_ROWS * STEP_DIMS, /* of a block, for 32 value dimensions */
    AMX_MAX_DIM = 576,                      /* as in DeepSeek's MLA */
    MAX_STEPS = AMX_MAX_DIM / STEP_DIMS,
};

/* All keys that the tasks of a sequence see are packed at once if they take at most WHOLE_BYTES or are at most
 * PART_KEYS; else in parts of PART_BYTES, or of PART_KEYS where that is more.  In parts each block's results are
 * read and written once for each part; if no sequence is, they stay in the first-level cache. */
#define WHOLE_BYTES (1 << 20)
#define PART_BYTES (1 << 19)
#define PART_KEYS 512

/* Query rows of a task, which share the cost of packing a head's keys. */
#define TASK_ROWS 1024

/* How a job's scores become weights (change.h). */
enum weigh_kind {
    WEIGH_ALL,     /* every query sees every key */
    WEIGH_SEEN,    /* bits say who sees what */
    WEIGH_RAMP,    /* likewise, and scores rise evenly with the key, as ALiBi has it */
    WEIGH_CAPPED,  /* likewise, and scores are capped, none of them large beside the cap */
    WEIGH_BIAS,    /* likewise, and scores get a bias */
    WEIGH_CHANGED, /* likewise, and scores get any terms */
    WEIGH_SCALED,  /* likewise, and weights get the scales of values */
};

/* 32 rows of a left factor: two tiles for each 32 columns. */
struct left_rows {
    const uint16_t *at;
    ptrdiff_t row;         /* bytes from one to the next */
    ptrdiff_t lower, next; /* elements from the first to row 16, and to the next 32 columns */
};

static inline struct left_rows packed_rows(const uint16_t *at)
{
    return (struct left_rows){at, TILE_ROW_BYTES, TILE_ELEMENTS, PAIR_ELEMENTS};
}

/* 32 queries of a KV head: what is kept between their jobs. */
struct block {
    /* Sums of weights: [0] of the even strips of jobs, [1] of the odd ones; a row's is the sum of all its lanes.
     * Where weights take scales of values, [0] of all jobs but the last and [1] of that, until add_sums(). */
    float l[2][BLOCK_ROWS][TILE_ROWS] __attribute__((aligned(ATTN_WORKSPACE_ALIGN)));
    /* A whole number near the maximum of the scores in base 2; -INFINITY: no key was seen yet. */
    float m[BLOCK_ROWS];
    float bias
        [BLOCK_ROWS]; /* what turns a score into a weight's bits (weigh.h); NAN: only exactly.h can */
    float inverse[BLOCK_ROWS]; /* in the end 1 / l, sink included */
    float scale;               /* of products, to scores */
    float v_scale;             /* of results; 1 where weights have it, or values none */
    bool begun;                /* m was looked for */
    bool started;              /* l and o hold sums */
    struct group_block rows;
    ptrdiff_t lo[BLOCK_ROWS], hi[BLOCK_ROWS]; /* keys that a row sees by its place */
    struct terms terms[BLOCK_ROWS]; /* where rows have any; all stand at the first one's key */
    float rise[BLOCK_ROWS];         /* of products with the key, by ALiBi */
    enum weigh_kind kind;           /* of jobs that hide nothing */
    struct left_rows q;             /* packed or where they lie */
    uint16_t *packed_q;             /* tiles of A, two for each 32 dimensions */
    float *o;                       /* four tiles of results for each 32 value dimensions */
};

/* Up to JOB_STRIPS strips that some query of a block sees; none for a block whose queries see nothing. */
struct job {
    struct block *block;
    int strips;
    bool masked;                /* some query does not see all of them */
    int strip[JOB_STRIPS];      /* number among those that are packed */
    ptrdiff_t key[JOB_STRIPS];  /* first of each strip */
    int32_t values[JOB_STRIPS]; /* where each strip's V lies: elements, from the first of V */
    uint32_t seen[JOB_STRIPS][BLOCK_ROWS]; /* a bit for each key */
    bool shown;                            /* all of these are set */
};

/* The whole call. */
struct call {
    const struct attn_problem *problem;
    const struct attn_tensors *tensors;
    struct tasks tasks;
    int q_steps, v_steps; /* packed K and V have 32 dimensions each so many times */
    int score_steps;      /* products of these for scores: q_steps, or Q_PARTS times that */
    int32_t k_at[Q_PARTS * MAX_STEPS]; /* where the tiles of K for each lie in a packed strip */
    bool terms;                        /* rows have terms.h's */
    bool natural;         /* scores get more than their product, and are not in base 2 before */
    bool hides;           /* a boolean mask, a tree or a bias of -inf (not in WEIGH_BIAS) may */
    float scale;          /* of products, to scores, but for what a block's K has */
    float unit;           /* of scores, to base 2 */
    enum weigh_kind kind; /* of jobs that hide nothing */
    bool k_tokens;        /* scores take a scale of each key, */
    bool k_channels;      /* or queries one of each dimension; */
    bool v_tokens;        /* weights take one of each value */
    float v_unit;         /* of packed values (bytes_unit()); 1 where they have 16 bits */
    int strips;           /* that there is room for: a set */
    size_t whole_strips;  /* of a sequence, up to which it is packed at once */
    ptrdiff_t part_keys;  /* of a part, where it is not */
    int sets;             /* of them; if several, tasks follow each other without a stop */
    int ahead;            /* of the softmax, strips whose scores are made */
    bool whole;           /* turns may be those of whole.h */
    bool in_parts; /* keys of some sequence are packed in parts: all blocks of each task are kept */
};

/* What a thread has. */
struct scratch {
    uint16_t *k, *v;      /* packed */
    float *ring;          /* strips of scores between their products and their softmax */
    float *again;         /* those of a job that is computed again */
    uint16_t *weights[2]; /* of the job whose softmax is under way and of the one before */
    uint16_t *strip;      /* keys that are packed for rows of the softmax that are wanted */
    uint32_t *left;       /* keys of a set that operands leave to a block: seen_keys.h */
    struct block *blocks;
    bool *finite;               /* by strip: all of V is */
    float *k_scales, *v_scales; /* by packed key; NULL where scores and weights take none */
};

/* Those of a strip. */
static inline const float *scales_at(const float *scales, int strip)
{
    return scales ? scales + strip * STRIP_KEYS : NULL;
}

#define RING \
    3 /* strips of scores that there is room for: call.ahead at most, and the one that is read */
