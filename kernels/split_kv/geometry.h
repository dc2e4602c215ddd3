/*
 * geometry.h: part of kernel split_kv: how a problem is divided, and the layout of the workspace.
 *
 * A unit is a block (group.h) of up to UNIT_ROWS query rows of one KV head. A part is a unit's result on
 * one split: O (unnormalised), m and l of each row.
 */
#ifndef ATTN_SPLIT_KV_GEOMETRY_H
#define ATTN_SPLIT_KV_GEOMETRY_H

#include "shared/group.h"
#include "split_kv_tile.h"
#if MATRIX_UNIT
#include "shared/tile_bytes.h"
#endif

#if MATRIX_UNIT
#define SPLIT_KEYS 1024 /* 128 rows of 512 are merged in 3 % of the time that these take */
#else
#define SPLIT_KEYS 512 /* 256 KB of f32 K at D = 128: 10 us, against 1 us to start and merge */
#endif
#define ALONE_KEYS 1024      /* the same for a single row, which reads long runs faster */
#define TOUCH_BYTES 65536    /* of K, or of V, whose pages are looked up together (pages.h) */
#define UNIT_ROWS 128        /* Q, P and O of a unit stay in L2 beside the streams of K and V */
#define BLOCK_KEYS 64        /* most keys of a block: bits of a word (mask_bits.h) */
#define BLOCK_BYTES 8192     /* of K in a block: its K, its V, Q and O share 32 KB of L1 */
#define UNITS_PER_THREAD 8   /* from here on threads take whole units */
#define BUNDLES_PER_THREAD 4 /* with fewer, threads wait for the last ones */
#define BUNDLES_OF_LANES \
    2 /* larger bundles fill the lanes better: 0.97 of the time of 4, two threads */
#define FAR_BYTES 0x14p20 /* of K and V: so many are taken to come from memory */
#define NEAR_BYTES 0x1p23 /* and so few from a cache, in which hardware finds them in time */
#define HEADS_ABREAST 8   /* most KV heads that a task takes together */
#define UNITS_ABREAST 32  /* most units: of those heads, or of sequences that share pages */

/* Whether rows of several units see the keys that they share together, a row in each lane (row_lanes.h). */
#define ROW_LANES (BF16_PAIRS && !MATRIX_UNIT && VF_LANES == 2 * LANE_ROWS)
#if ROW_LANES
#define LANES_COLS 2                         /* vectors of a tile */
#define LANES_TILE (LANES_COLS * VF_LANES)   /* rows of a tile */
#define LANES_TILES (UNIT_ROWS / LANES_TILE) /* of a task */
#define LANES_KEYS 256                       /* most keys whose values are interleaved together */
#define LANES_RING 128                       /* keys whose scores are held: two blocks */
#define LANES_PANEL \
    (LANES_KEYS / 2 * VF_BYTES + VF_BYTES) /* bytes of 16 dimensions; not a power of two */

/* Memory of these tiles, in this order, behind the scratch of all units of a task. */
enum lanes_memory { LANES_Q, LANES_O, LANES_S, LANES_P, LANES_V, LANES_COUNT };
#endif

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
    /* Bytes, all multiples of ATTN_WORKSPACE_ALIGN. */
    size_t scratch[SCRATCH_COUNT], unit_bytes; /* where each begins, and their sum */
    size_t thread_bytes; /* of all units of a task, and of their tiles of lanes */
#if ROW_LANES
    size_t lanes[LANES_COUNT]; /* where each begins in a thread's scratch */
#endif
    size_t o_bytes, part_bytes; /* a part is O and then m and l of each row */
    size_t slots;               /* for the parts of one unit */
    /* Of these, the first ones, of threads: for the units of a task that takes them whole. */
    size_t own;
    size_t table_bytes; /* of a schedule (schedule.h) */
};

static inline size_t geometry_lines(size_t bytes)
{
    return attn_round_up(bytes, ATTN_WORKSPACE_ALIGN);
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

/* ---- memory --------------------------------------------------------------------------------- */

#if MATRIX_UNIT
/* A panel: keys whose scores, weights and values are all held as tiles.  O is read and written once per
 * panel. */
enum { PANEL_BLOCKS = 4, PANEL_KEYS = PANEL_BLOCKS * BLOCK_KEYS };

static inline size_t geometry_products(ptrdiff_t dim)
{
    return (size_t)steps_of_dims((size_t)dim);
}

static inline void geometry_panel_bytes(const struct geometry *g, size_t bytes[SCRATCH_COUNT])
{
    const size_t step = STEP_DIMS * sizeof(uint16_t), rows = g->row_room;
    bytes[SCRATCH_P] = rows * PANEL_KEYS * sizeof(float);
    bytes[SCRATCH_K] = BLOCK_KEYS * geometry_products(g->qk.dim) * step;
    bytes[SCRATCH_V] = PANEL_KEYS * geometry_products(g->v.dim) * step;
    bytes[SCRATCH_A] = rows * PANEL_KEYS * sizeof(uint16_t);
    bytes[SCRATCH_BITS] = PANEL_BLOCKS * rows * sizeof(uint64_t);
}
#endif

/* Bytes of the rows of a block that is copied. */
static inline size_t geometry_copied_rows(const struct axis *axis, size_t keys)
{
    return geometry_lines(keys * (size_t)axis->bytes);
}

/* With the scales and zero points of groups behind them, of which a list's are copied, too. */
static inline size_t geometry_copy(const struct geometry *g, const struct axis *axis, size_t keys)
{
    const size_t groups = ((size_t)axis->dim - 1) / 32 + 1; /* at most */
    if (!g->listed)
        return GROUP_KEYS * (size_t)axis->bytes;
    return geometry_copied_rows(axis, keys) +
           (g->format == FORMAT_I4 ? 2 * keys * groups * sizeof(float) : 0);
}

#if ROW_LANES
/* Adds the memory of tiles of lanes to that of a thread, where sequences may share pages and tiles of lanes take
 * their keys (shared_keys.h). */
static inline void geometry_lanes(struct geometry *g)
{
    const size_t q = (size_t)g->q_floats, o = (size_t)g->o_floats;
    const size_t floats[LANES_COUNT] = {
        [LANES_Q] = UNIT_ROWS * q,
        [LANES_O] = UNIT_ROWS * o,
        [LANES_S] = LANES_RING * LANES_TILE,
        [LANES_P] = LANES_KEYS / 2 * LANES_TILE,
        [LANES_V] = LANES_PANEL / sizeof(float) * (o / VF_LANES),
    };
    const bool taken = g->bundle > 1 && g->format == FORMAT_BF16 && !g->natural && !g->looks &&
                       !g->qk.tail && !g->v.tail;
    for (int i = 0; i < LANES_COUNT && taken; i++) {
        g->lanes[i] = g->thread_bytes;
        g->thread_bytes += geometry_lines(floats[i] * sizeof(float));
    }
}
#endif

static inline void geometry_bytes(struct geometry *g)
{
    const size_t rows = g->row_room, keys = (size_t)g->block_keys;
    const size_t lanes = (size_t)g->tile_rows * keys + VF_LANES; /* of a tile, and past its end */
    const size_t merged = (size_t)(g->o_floats > g->q_floats ? g->o_floats : g->q_floats);
    const size_t p = rows * keys > ALONE_KEYS || !g->alone ? rows * keys : ALONE_KEYS;
    size_t bytes[SCRATCH_COUNT] = {
        [SCRATCH_Q] = rows * merged * sizeof(float),
        [SCRATCH_P] = p * sizeof(float),
        [SCRATCH_K] = geometry_copy(g, &g->qk, keys),
        [SCRATCH_V] = geometry_copy(g, &g->v, keys),
        [SCRATCH_TILES] = (rows / (size_t)g->tile_rows + 3) * sizeof(struct tile),
        [SCRATCH_VIEWS] = rows * sizeof(struct view),
        [SCRATCH_BITS] = 2 * rows * sizeof(uint64_t),
        [SCRATCH_TERMS] =
            g->natural || FORMAT_SCALED(g->format) ? TERMS_ARRAYS * lanes * sizeof(float) : 0,
        [SCRATCH_ROWS] = g->in_place ? sizeof(struct listed_rows) : 0,
    };
#if MATRIX_UNIT
    geometry_panel_bytes(g, bytes);
#endif
    for (int i = 0; i < SCRATCH_COUNT; i++) {
        g->scratch[i] = g->unit_bytes;
        g->unit_bytes += geometry_lines(bytes[i]);
    }
    g->thread_bytes = geometry_together(g) * g->unit_bytes;
#if ROW_LANES
    geometry_lanes(g);
#endif
    g->o_bytes = geometry_lines(rows * (size_t)g->o_floats * sizeof(float));
    g->part_bytes = g->o_bytes + geometry_lines(2 * rows * sizeof(float));
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

/* Whether the rows of a key's heads are neighbours.  Then a head's own rows may have a page each, and heads
 * one after the other look it up and fetch from it as often as there are heads: abreast they take 0.48 to
 * 0.75 of the time (1 thread, AMD Zen 4, 8 heads of 128 x 16384 keys, 2026-11-25).  Sequences of their
 * own lengths, lists of keys, and weights, are computed head by head. */
static inline bool geometry_neighbours(const struct attn_problem *p)
{
    const unsigned apart =
        ATTN_OPTION_PAGED | ATTN_OPTION_RAGGED | ATTN_OPTION_PACKED | ATTN_OPTION_INDEX;
    return p->layout == ATTN_BSHD && p->kv_heads > 1 && !(p->options & apart) &&
           !(p->outputs & ATTN_OUTPUT_WEIGHTS);
}

/* Sequences that a task takes together where they share pages: as many rows as a unit has.  Which do is known
 * when a call has their tables. */
static inline size_t geometry_bundle(const struct geometry *g, const struct attn_problem *p)
{
    const size_t fit = geometry_minimum(UNIT_ROWS / g->unit_rows, UNITS_ABREAST);
    return geometry_minimum(fit, p->batch);
}

/* Slots, and which threads need them: see schedule.h for sequences that are uneven. */
static inline void geometry_share(struct geometry *g, const struct attn_problem *p, int threads)
{
    const size_t each = threads > 1 ? (size_t)threads : 0, many = UNITS_PER_THREAD * each;
    g->abreast = !MATRIX_UNIT && !g->alone && geometry_neighbours(p)
                     ? geometry_minimum(p->kv_heads, HEADS_ABREAST)
                     : 1;
    while (g->abreast > 1 && g->units / g->abreast * g->splits < many)
        g->abreast = (g->abreast + 1) / 2;
    g->whole = threads == 1 || g->splits == 1 || g->units / g->abreast >= many;
    g->bundle = p->options & ATTN_OPTION_PAGED && !g->listed ? geometry_bundle(g, p) : 1;
    const bool ordered = g->uneven || g->bundle > 1;
    g->own = g->whole || ordered ? (size_t)threads * geometry_together(g) : 0;
    g->slots = g->own + (g->uneven ? geometry_minimum(g->units, many) : g->whole ? 0 : g->units);
    if (ordered)
        g->table_bytes = geometry_lines(4 * (p->batch + 1) * sizeof(size_t));
}

/* Bytes of K and V of `batch` sequences. */
static inline double geometry_kv_bytes(const struct geometry *g, const struct attn_problem *p,
                                       size_t batch)
{
    const double rows = (double)batch * (double)p->kv_heads * (double)p->kv_len;
    return rows * (double)(g->qk.bytes + g->v.bytes);
}

/*
 * Fastest of four ways to read rows of K and V, by the bytes that a call reads; all give the same bits.
 * The thresholds were measured on AMD Zen 4, one thread and two, 8 heads of 64 and 128, with calls that
 * alternate between two KV caches (2026-11-25), so that "memory" means more than its L3 holds.
 *
 * One row in bf16, and two rows, read K in the order of memory, and V where all its steps fit the
 * accumulators.  The hardware prefetcher recognises that, and has more lines in flight than software
 * prefetches can: one row 0.77 to 0.82 of the time of four keys abreast with prefetches, two
 * 0.74 to 0.91 from memory, and in f32 from 8 MB on (0.86 to 1.02, where bf16 takes 1.0 to 1.1).
 *
 * On an Intel Xeon with AMX lines that are fetched come faster (ALWAYS_FETCHES; one thread, 8 heads,
 * 2026-11-27): one row in bf16 takes 0.68 to 0.89 of the time of a stream, in f32 0.89 to 0.92 from 8 MB
 * on, two rows in f32 0.74.
 */
static inline bool geometry_streams(const struct geometry *g, const struct attn_problem *p)
{
    const ptrdiff_t rows = (ptrdiff_t)g->unit_rows, n = g->v.steps;
    const ptrdiff_t accumulators = VF_REGISTERS == 32 && rows > 1 ? 16 : 8;
    const double least = g->format == FORMAT_F32 ? NEAR_BYTES : FAR_BYTES;
    return !ALWAYS_FETCHES &&
           (rows == 1 ? g->format == FORMAT_BF16
                      : rows == 2 && (g->format == FORMAT_F32 || FORMAT_BF16_PAIRS(g->format)) &&
                            geometry_kv_bytes(g, p, p->batch) > least) &&
           p->layout == ATTN_BHSD && !(p->options & (ATTN_OPTION_PAGED | ATTN_OPTION_SHARED_KV)) &&
           g->v.tail == 0 && (n & (n - 1)) == 0 &&
           rows * n * FORMAT_VECTORS(g->format) <= accumulators;
}

/* Two rows in a cache read keys abreast, unfetched: a line has two multiply-adds, and five instructions would
 * fetch the next one (without these 0.91 to 0.97 of the time, with four rows 1.0 to 1.1). */
static inline bool geometry_near(const struct geometry *g, const struct attn_problem *p)
{
    return g->unit_rows == 2 && (g->format == FORMAT_F32 || FORMAT_BF16_PAIRS(g->format)) &&
           geometry_kv_bytes(g, p, p->batch) <= NEAR_BYTES;
}

/* From memory keys one after the other, each fetched, are read faster than four abreast (0.80 to 0.93 of the
 * time); in a cache they are not (1.06 to 1.7), nor with rows of two lines (1.03), nor where bf16
 * is widened (1.09). */
static inline bool geometry_apart(const struct geometry *g, const struct attn_problem *p)
{
    return (g->format == FORMAT_F32 || FORMAT_BF16_PAIRS(g->format)) && g->qk.bytes >= 256 &&
           geometry_kv_bytes(g, p, p->batch) > FAR_BYTES;
}

/* A row that is a unit's only one and takes its keys as one stream: where lines are always fetched, or the
 * rows of a key's heads are neighbours, from a cache alone (heads abreast take 1.3 times as long with 4 MB,
 * 0.64 to 0.79 from 12 MB on).  A row's bits do not depend on the batch. */
static inline bool geometry_rows_alone(const struct geometry *g, const struct attn_problem *p)
{
    return g->group == 1 && g->format == FORMAT_F32 && !g->natural && !g->looks &&
           !((ALWAYS_FETCHES || geometry_neighbours(p)) && geometry_kv_bytes(g, p, 1) > NEAR_BYTES);
}

/* Two rows of up to 64 floats walk over few keys in blocks of 16 KB: 0.95 to 0.97 of the time in L2, and
 * 0.98 to 1.02 from memory (with 128 floats 0.93 to 0.99, but 1.01 to 1.12). */
static inline size_t geometry_block_bytes(size_t rows, size_t row_bytes, size_t element)
{
    return rows == 2 && element == sizeof(float) && row_bytes <= 256 ? 2 * BLOCK_BYTES
                                                                     : BLOCK_BYTES;
}

/* The largest divisor of n that is at most `most`. */
static inline size_t geometry_divisor(size_t n, size_t most)
{
    size_t divisor = n < most ? n : most;
    while (n % divisor)
        divisor--;
    return divisor;
}

/* Rows of a unit: of queries that share a list, whole ones if it has room for one. */
static inline size_t geometry_unit_most(const struct attn_problem *p)
{
    const size_t group = p->q_heads / p->kv_heads;
    if (!(p->options & ATTN_OPTION_INDEX))
        return UNIT_ROWS;
    return group > UNIT_ROWS ? geometry_divisor(group, UNIT_ROWS)
                             : group * geometry_divisor(p->index_block, UNIT_ROWS / group);
}

static inline struct geometry geometry_of(const struct attn_problem *p, int threads)
{
    const size_t element = attn_dtype_size(p->kv_dtype), rows = group_rows(p);
    const size_t row = (size_t)attn_elements_bytes(p->kv_dtype, (ptrdiff_t)p->qk_dim);
    const size_t bytes = geometry_block_bytes(rows, row, element);
    const size_t fit = bytes / row / GROUP_KEYS * GROUP_KEYS;
    const enum format format = format_of(p->kv_dtype);
    const struct attn_sequence longest = {0, p->q_len, 0, p->kv_len};
    struct geometry g = {
        .format = format,
        .qk = axis_of(p->qk_dim, p->kv_dtype, format),
        .v = axis_of(p->v_dim, p->kv_dtype, format),
        .natural =
            p->mask & ATTN_MASK_BIAS || p->options & (ATTN_OPTION_SOFTCAP | ATTN_OPTION_ALIBI),
        .looks = p->mask & (ATTN_MASK_BOOL | ATTN_MASK_BIAS) || p->options & ATTN_OPTION_INDEX,
        .shared = p->options & ATTN_OPTION_SHARED_KV,
        .uneven = p->options & (ATTN_OPTION_RAGGED | ATTN_OPTION_PACKED),
        .group = p->q_heads / p->kv_heads,
        .listed = p->options & ATTN_OPTION_INDEX ? p->index_count : 0,
        .in_place = !MATRIX_UNIT && p->options & ATTN_OPTION_INDEX && format != FORMAT_I4,
        .unit_most = geometry_unit_most(p),
        .tile_rows = MATRIX_UNIT || format == FORMAT_F32 || format == FORMAT_BF16 ? MOST_ROWS : 4,
        .block_keys = (ptrdiff_t)(fit ? geometry_minimum(fit, BLOCK_KEYS) : GROUP_KEYS),
    };
    g.unit_rows = geometry_minimum(rows, g.unit_most);
    const ptrdiff_t blocks = TOUCH_BYTES / g.block_keys / g.qk.bytes;
    g.touch_keys = (blocks > 1 ? blocks : 1) * g.block_keys;
    g.streams = geometry_streams(&g, p);
    g.near = geometry_near(&g, p);
    g.apart = g.streams || geometry_apart(&g, p);
    g.splits = (geometry_keys(&g, &longest) + SPLIT_KEYS - 1) / SPLIT_KEYS;
    g.alone = geometry_rows_alone(&g, p);
    if (!g.uneven)
        g.splits = geometry_splits(&g, &longest);
    g.units = p->batch * p->kv_heads * geometry_units(&g, &longest);
    g.q_floats = axis_floats(&g.qk, g.format);
    g.o_floats = axis_floats(&g.v, g.format);
    g.row_room = g.unit_rows;
#if BYTE_PAIRS
    if (FORMAT_BYTE_PAIRS(format)) /* whether channels have scales a plan does not know */
        g.q_floats = g.qk.steps * FORMAT_K_VECTORS(format) * VF_LANES * Q_PARTS;
    if (format == FORMAT_I4) /* also as pairs (nibble_pairs.h) */
        g.q_floats += g.qk.steps * VF_LANES;
#endif
#if MATRIX_UNIT
    g.row_room = attn_round_up(g.unit_rows, TILE_ROWS);
    g.block_keys = BLOCK_KEYS;
    g.touch_keys = TOUCH_BYTES / BLOCK_KEYS / g.qk.bytes * BLOCK_KEYS;
    if (g.touch_keys == 0)
        g.touch_keys = BLOCK_KEYS;
    g.q_floats = (ptrdiff_t)geometry_products(g.qk.dim) * STEP_DIMS / 2 *
                 (FORMAT_SCALED(format) ? Q_PARTS : 1);
    g.o_floats = (ptrdiff_t)geometry_products(g.v.dim) * STEP_DIMS;
#endif
    geometry_share(&g, p, threads);
    g.far = ALWAYS_FETCHES && g.whole && g.abreast == 1 &&
            geometry_kv_bytes(&g, p, p->batch) > NEAR_BYTES;
    geometry_bytes(&g);
    return g;
}

/* SIZE_MAX where it overflows, which no caller can lend. */
static inline size_t geometry_workspace(const struct geometry *g, int threads)
{
    size_t scratch, parts, sum;
    if (__builtin_mul_overflow(g->thread_bytes, (size_t)threads, &scratch) ||
        __builtin_mul_overflow(g->part_bytes, g->splits, &parts) ||
        __builtin_mul_overflow(parts, g->slots, &parts) ||
        __builtin_add_overflow(scratch, parts, &sum) ||
        __builtin_add_overflow(sum, g->table_bytes, &sum))
        return SIZE_MAX;
    return sum;
}

#endif
