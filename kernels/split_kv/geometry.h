/*
 * geometry.h: part of kernel split_kv: into what a problem is divided.
 *
 * A unit is a block (group.h) of up to UNIT_ROWS query rows of one KV head. A part is a unit's result on
 * one split: O (unnormalised), m and l of each row.
 */
#pragma once

#include "shared/group.h"
#include "row_lanes_sizes.h"
#include "split_kv_tile.h"

#if MATRIX_UNIT
#define SPLIT_KEYS 1024 /* 128 rows of 512 are merged in 3 % of the time that these take */
#else
#define SPLIT_KEYS 512 /* 256 KB of f32 K at D = 128: 10 us, against 1 us to start and merge */
#endif
#define ALONE_KEYS 1024    /* the same for a single row, which reads long runs faster */
#define UNIT_ROWS 128      /* Q, P and O of a unit stay in L2 beside the streams of K and V */
#define BLOCK_KEYS 64      /* most keys of a block: bits of a word (mask_bits.h) */
#define UNITS_PER_THREAD 8 /* from here on threads take whole units, even if not all take as many */
#define RUNS_PER_THREAD 4  /* tasks of several splits, or half as many: fewer balance worse */
#define BUNDLES_PER_THREAD 4 /* with fewer, threads wait for the last ones */
#define BUNDLES_OF_LANES \
    2 /* larger bundles fill the lanes better: 0.97 of the time of 4, two threads */
#define UNITS_ABREAST 32 /* most units: of those heads, or of sequences that share pages */

/* Intel's cores, which avx512_2fma is for, want every line asked for: see geometry_streams(). */
#ifdef VF_TWO_FMA_UNITS
#define ALWAYS_FETCHES 1
#else
#define ALWAYS_FETCHES 0
#endif

/* Keys that a unit's row sees by position, its rows of mask and bias, NULL where there is none, and its
 * tree. */
struct view {
    struct attn_range seen; /* within the split */
    const uint8_t *mask;
    const char *bias;
    struct attn_tree tree;
    ptrdiff_t query; /* which draft of the tree the row is */
};

/* Scratch of a unit, in this order. */
enum scratch {
    SCRATCH_Q, /* and a row of O when merging */
    SCRATCH_P, /* of a unit in a block, or of a row alone in a split; a matrix unit's in a panel */
    SCRATCH_K, /* keys that are copied to be read */
    SCRATCH_V, /* likewise; a panel's as tiles */
    SCRATCH_A, /* a panel's P as tiles */
    SCRATCH_TILES,
    SCRATCH_VIEWS,
    SCRATCH_BITS,  /* what a unit's rows see of a block, and of the next one; of those of a panel */
    SCRATCH_TERMS, /* bias and factors of a tile in a block */
    SCRATCH_ROWS,  /* addresses of rows that a list names: struct listed_rows */
    SCRATCH_COUNT
};
#define TERMS_ARRAYS 3

/* Addresses of the rows that a list names, of a block and of the next one, in turn. */
struct listed_rows {
    const char *k[2][BLOCK_KEYS], *v[2][BLOCK_KEYS];
};

struct geometry {
    enum format format;
    struct axis qk, v;
    bool streams;         /* one or two rows read rows without a gap in order, unfetched */
    bool near;            /* K and V are in a cache, so that fetching costs more than it gains */
    bool alone;           /* a row that is a unit's only one takes its keys as one stream */
    bool natural;         /* scores have terms beside Q K and scales (split_kv_terms.h) */
    bool looks;           /* which keys a row sees depends on operands (mask_bits.h) */
    bool shared;          /* V is part of K */
    bool uneven;          /* sequences have lengths of their own */
    size_t listed;        /* entries of a list of keys (listed.h); 0: queries see all */
    bool in_place;        /* rows that a list names can be read where they lie (listed_rows.h) */
    size_t abreast;       /* KV heads that a task takes together, block by block */
    size_t bundle;        /* the same of sequences, at most, where they share pages */
    bool apart;           /* keys are read one after the other */
    bool far;             /* K and V are fetched into L2 from farther ahead (cache.h) */
    size_t group;         /* query heads of a KV head */
    size_t unit_most;     /* rows of a unit where there are enough */
    size_t unit_rows;     /* most rows of a unit */
    size_t row_room;      /* the same, in whole tiles of a matrix unit */
    int tile_rows;        /* most rows of a tile */
    ptrdiff_t block_keys; /* a multiple of GROUP_KEYS */
    ptrdiff_t touch_keys; /* whose pages are looked up together: whole blocks */
    ptrdiff_t q_floats, o_floats; /* of a row */
    /* The most there can be. */
    size_t units, splits;
    bool whole; /* a thread takes all splits of a unit, where all units are alike */
    size_t run; /* how many of them a task takes */
    /* Bytes, all multiples of ATTN_WORKSPACE_ALIGN. */
    size_t scratch[SCRATCH_COUNT], unit_bytes; /* where each begins, and their sum */
    size_t thread_bytes; /* of all units of a task, and of their tiles of lanes */
#if ROW_LANES
    size_t lanes[LANES_COUNT]; /* where each begins in a thread's scratch */
#endif
    size_t o_bytes, part_bytes; /* a part is O and then m and l of each row */
    size_t slots;               /* for the parts of one unit */
    size_t own; /* of these, all threads' own, for the units of tasks that take keys whole */
    size_t table_bytes; /* of a schedule (schedule.h) */
};

static inline size_t geometry_lines(size_t bytes)
{
    return attn_round_up(bytes, ATTN_WORKSPACE_ALIGN);
}

/* Groups of KV heads of a sequence that a task takes together. */
static inline size_t geometry_groups(const struct geometry *g, const struct attn_problem *p)
{
    return (p->kv_heads + g->abreast - 1) / g->abreast;
}

/* Whether tasks with the same number of a sequence's splits take about as long: its queries see the same keys,
 * and tasks have as many heads and rows. */
static inline bool geometry_alike(const struct geometry *g, const struct attn_problem *p,
                                  const struct attn_sequence *s)
{
    const size_t rows = g->group * s->q_len;
    const bool causal = p->mask == ATTN_MASK_CAUSAL && s->q_len <= s->kv_len / 16;
    return (p->mask == 0 || causal) && !(p->options & ATTN_OPTION_WINDOW) && !g->listed &&
           p->kv_heads % g->abreast == 0 && (rows < g->unit_most || rows % g->unit_most == 0);
}

static inline size_t geometry_minimum(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- sequences ------------------------------------------------------------------------------ */

/* What is split: keys, or entries of a list. */
static inline size_t geometry_keys(const struct geometry *g, const struct attn_sequence *s)
{
    return g->listed ? g->listed : s->kv_len;
}

/* Units of each KV head. */
static inline size_t geometry_units(const struct geometry *g, const struct attn_sequence *s)
{
    return (g->group * s->q_len + g->unit_most - 1) / g->unit_most;
}

static inline bool geometry_alone(const struct geometry *g, const struct attn_sequence *s)
{
    return g->alone && g->group * s->q_len == 1;
}

/* A split begins at a multiple of so many keys of its sequence. */
static inline size_t geometry_split_keys(const struct geometry *g, const struct attn_sequence *s)
{
    static const size_t keys[] = {SPLIT_KEYS, ALONE_KEYS}; /* the same in some variants */
    return keys[geometry_alone(g, s)];
}

static inline size_t geometry_splits(const struct geometry *g, const struct attn_sequence *s)
{
    const size_t each = geometry_split_keys(g, s);
    return (geometry_keys(g, s) + each - 1) / each;
}

/* Units of a task, at most. */
static inline size_t geometry_together(const struct geometry *g)
{
    return g->abreast > g->bundle ? g->abreast : g->bundle;
}

/* Bundles of sequences that a thread should have, if there are enough. */
static inline size_t geometry_bundles(const struct geometry *g)
{
#if ROW_LANES
    if (g->lanes[LANES_Q])
        return BUNDLES_OF_LANES;
#endif
    (void)g;
    return BUNDLES_PER_THREAD;
}
