/*
 * dispatch: which variant to use for a problem, from its shape and the thread count alone; what was measured
 * on the host (wisdom.h) goes before these rules.
 *
 * Four kernels are the fastest somewhere.  With enough query rows per KV head flash is: a row costs
 * it the least.  With fewer rows than lanes it computes lanes that are not used, and with fewer
 * tiles than threads some threads idle.  Then split_kv is the fastest: it pays for the rows there
 * are, and splits the keys.  Where few rows of several heads meet few keys, both take longer to set
 * up than row_parallel takes in all.
 *
 * The constants are crossings measured on AMD Zen 4 (2 cores, GCC 12.2; 2026-11-21, those of up to 32 rows
 * 2026-11-25, those of one head with up to 16 rows 2026-11-29): float32 and bf16, D = 64 and 128, 1 to 64
 * rows, 1 to 8192 keys, 1 and 2 threads.
 * best_measured.c of tests/ compares the choices with committed results.
 */
#include "wisdom.h"

/* What decides.  A row is a query of one of the heads that share a KV head. */
struct shape {
    double heads;      /* KV heads of all sequences */
    double dims;       /* of a key and its value, on average */
    double rows, keys; /* of a KV head; keys that a row sees on average */
    double work;       /* multiplications, of all heads */
    double threads;
    const struct attn_kernel *flash; /* its preferred variant, NULL where none will do */
    bool split_kv_in_tiles;          /* that of split_kv uses a matrix unit */
    bool cache_in_pairs; /* split_kv can widen the cache to pairs of bf16, and gains by it */
    bool alone; /* one head of so few keys that it is one task of split_kv, which needs no OpenMP */
};

static double least(double a, double b)
{
    return a < b ? a : b;
}

/* Parts that hold at most `most` of n things. */
static double parts(double n, double most)
{
    return (double)(size_t)((n + most - 1) / most);
}

static double lanes_of(const struct shape *s)
{
    const enum attn_isa isa = s->flash ? s->flash->isa : ATTN_ISA_BASELINE;
    switch (isa) {
    case ATTN_ISA_AVX512:
    case ATTN_ISA_AVX512_2FMA:
    case ATTN_ISA_AVX512_BF16:
    case ATTN_ISA_AVX512_FP16:
    case ATTN_ISA_SVE512:
        return 16;
    case ATTN_ISA_AVX2:
    case ATTN_ISA_SVE256:
        return 8;
    default:
        return 4;
    }
}

/* A loop over the definition needs nothing set up: one query and key take it 0.1 us, split_kv 0.25. */
static bool minute(const struct shape *s)
{
    return s->work <= 1024;
}

/* So few keys that vectors of 16 lanes are mostly set up and summed. */
static bool few(const struct shape *s)
{
    return !s->alone && s->rows * s->keys <= 32;
}

/* Rows one by one, each with an output row of its own and no more scratch, until their multiplications cost
 * more than split_kv takes to set up a call, and a head with one tile (three rows are two). */
static bool small(const struct shape *s)
{
    if (s->alone) /* 0.3 us in split_kv, 0.5 in row_parallel */
        return false;
    if (s->rows <= 1)
        return s->keys <= 512;
    const double tiles = s->rows > 2 && s->rows < 4 ? 2 : 1;
    return s->rows <= 4 && s->work / s->heads <= tiles * (7168 + 5120 / s->heads);
}

/* Vectors of 16 lanes without products of pairs. */
static bool of_f32_in_16(enum attn_isa isa)
{
    return isa == ATTN_ISA_AVX512 || isa == ATTN_ISA_AVX512_2FMA;
}

/*
 * Where half of a vector of 16 lanes would be empty, flash wastes less in vectors of 8.  A processor that
 * multiplies twice as fast in wide vectors loses by it from 9 rows on: in vectors of 8, flash takes 1.3 to 2.0
 * times as long with 17 to 24 rows, and with 8 rows of D = 64 0.95 (Intel Xeon with AMX, GCC 12.2, 2026-11-27,
 * one head, D = 64 and 128; few-rows.jsonl in results/intel-amx-2core).  With 25 to 32 rows two threads have a
 * tile each in vectors of 8, and take 1.3 (D = 64) and 0.97 (D = 128) times as long as one thread with one tile
 * in vectors of 16 (Zen 4; dispatch-tiny.jsonl in results/amd-zen4-2core).
 */
static bool narrow(const struct shape *s)
{
    if (!s->flash || !of_f32_in_16(s->flash->isa))
        return false;
    if (s->rows <= 8)
        return true;
    return s->flash->isa != ATTN_ISA_AVX512_2FMA && s->rows > 16 && s->rows <= 24;
}

/*
 * What flash costs, in rows of split_kv on as many keys: for up to one vector of rows 1.02 times its lanes
 * (1.25 times where split_kv has wider vectors), and for two vectors, a tile, 1.87 times that.
 */
static double flash_rows(const struct shape *s, double *tiles)
{
    const double lanes = narrow(s) ? 8 : lanes_of(s), vector = (narrow(s) ? 1.25 : 1.02) * lanes;
    *tiles = parts(s->rows, 2 * lanes);
    const double rest = s->rows - (*tiles - 1) * 2 * lanes;
    return vector * (1.87 * (*tiles - 1) + (rest <= lanes ? 1 : 1.87));
}

/*
 * The same with a matrix unit, in rows of split_kv without one.  Packing keys costs flash as much as 6 rows,
 * which each thread of a head does for itself, and split_kv 5, which packs the values alone; then a block of
 * 32 rows costs the one and a tile of 16 the other what the products of their dimensions and a softmax take.
 * Without the unit split_kv pays for its rows.  They cross at 24 to 32 rows with D = 64 and 128, 64 with 256,
 * and nowhere up to 512 rows in latent attention (576, 512), whether K and V have 16 bits or 8, which both
 * widen. Splits have 1024 keys, and tiles of split_kv have 8 keys more to set up: 16 rows of 16 keys take flash
 * 0.83 of its time, of 64 keys 1.18 (Intel Xeon with AMX, GCC 12.2, 2026-11-26, 8 heads, one of latent
 * attention, 64 to 8192 keys; tuning.md in results/intel-amx-2core).  In vectors 2 rows of 2 keys of 128 and 4 of 4
 * take split_kv 0.43 and 0.54 of flash's time (choices-before.jsonl there).
 */
static bool starved_units(const struct shape *s)
{
    const double threads = s->threads > s->heads ? s->threads / s->heads : 1; /* of a head */
    const double blocks = parts(parts(s->rows, 32), threads);
    const double flash = 6 + (2.4 + 160 / s->dims) * blocks;
    const double split_kv = s->rows < 8 || !s->split_kv_in_tiles
                                ? s->rows
                                : 5 + (1.1 + 150 / s->dims) * parts(s->rows, 16);
    const double start = s->rows < 8 ? 0 : 8;
    const double split_kv_parts = parts(s->rows, 128) * parts(s->keys, 1024);
    return split_kv * (1 + start / s->keys) * least(s->threads, s->heads) <
           flash * least(s->threads, s->heads * split_kv_parts);
}

/*
 * The cost of split_kv is its rows, with 28 keys more (40 in bf16) for its set-up, or 16 (28) of 64 elements
 * without OpenMP, divided by the threads that its units of 128 rows and splits of 512 keys keep busy; that of
 * flash is divided by the threads that its tiles keep busy.
 */
static bool starved(const struct shape *s)
{
    double tiles;
    if (s->rows > 1 && s->flash && s->flash->isa == ATTN_ISA_AMX)
        return starved_units(s);
    if (s->split_kv_in_tiles) /* lists of keys, for which flash has no tiles */
        return true;
    const double flash = flash_rows(s, &tiles);
    const bool pairs = s->flash && s->flash->isa == ATTN_ISA_AVX512_BF16;
    const double start = s->alone && s->rows <= 16 ? (pairs ? 28 : 16) * 64 / s->dims
                         : pairs                   ? 40
                                                   : 28;
    const double split_kv = s->rows * (1 + start / s->keys);
    const double split_kv_parts = parts(s->rows, 128) * parts(s->keys, 512);
    return s->rows <= 1 || split_kv * least(s->threads, s->heads * tiles) <
                               flash * least(s->threads, s->heads * split_kv_parts);
}

static bool in_pairs(const struct shape *s)
{
    return s->cache_in_pairs;
}

static bool otherwise(const struct shape *s)
{
    (void)s;
    return true;
}

/* The first that is due and supports the problem is used.  Where avoid() holds, variants of_f32_in_16() are passed
 * over. */
static const struct {
    const char *name;
    bool (*due)(const struct shape *s);
    bool (*avoid)(const struct shape *s);
} preference[] = {
    {"naive", minute, NULL},       {"row_parallel", few, otherwise},
    {"row_parallel", small, NULL}, {"split_kv", starved, in_pairs},
    {"flash", otherwise, narrow},  {"online", otherwise, NULL},
    {"tiled", otherwise, NULL},    {"naive", otherwise, NULL},
};

/* The preferred variant of a name among those that this host can run and that support the problem. */
static const struct attn_kernel *preferred(const char *name, bool avoid,
                                           const struct attn_problem *problem)
{
    const enum attn_isa *order = attn_isa_preference();
    const char *why;
    for (size_t i = 0; i < ATTN_ISA_COUNT; i++) {
        const struct attn_kernel *kernel = attn_find(name, order[i]);
        if (kernel && attn_isa_available(kernel->isa) && attn_supports(kernel, problem, &why) &&
            !(avoid && of_f32_in_16(kernel->isa) && attn_find(name, ATTN_ISA_AVX2)))
            return kernel;
    }
    return NULL;
}

/*
 * Where products of pairs of bf16 take two turns, as on Intel, floats are preferred; but i4 becomes pairs in half as
 * many instructions, which gains with few rows: one to three take 0.70 to 0.88 of the time (Intel Xeon with AMX,
 * GCC 12.2, 2026-11-30, 512 and 8192 keys, D = 64 and 128; pairs-of-bytes.jsonl in results/intel-amx-2core), four 0.99
 * (8192 keys of 128, small-caches.jsonl there).  f8e4m3 gains 3 to 17 % with one and two rows, but takes 1.6 to 1.9
 * times as long with scales of channels (pairs-by-scales.jsonl), which a problem does not tell.
 */
static bool gains_by_pairs(const struct attn_problem *p, double rows)
{
    const struct attn_kernel *pairs = attn_find("split_kv", ATTN_ISA_AVX512_BF16);
    const char *why;
    return p->kv_dtype == ATTN_I4 && !(p->options & ATTN_OPTION_ZERO_POINTS) && rows <= 3 &&
           pairs && attn_isa_available(pairs->isa) && attn_supports(pairs, p, &why);
}

static struct shape shape_of(const struct attn_problem *p, int threads)
{
    const struct attn_kernel *split_kv = preferred("split_kv", false, p);
    const struct attn_shape shape = attn_shape_of(p);
    return (struct shape){
        .heads = shape.heads,
        .dims = (double)(p->qk_dim + p->v_dim) / 2,
        .rows = shape.rows,
        .keys = shape.keys,
        .work = attn_visible_pairs(p) * (double)(p->qk_dim + p->v_dim),
        .threads = threads > 1 ? threads : 1,
        .flash = preferred("flash", false, p),
        .split_kv_in_tiles = split_kv && split_kv->isa == ATTN_ISA_AMX,
        .cache_in_pairs = gains_by_pairs(p, shape.rows),
        .alone =
            split_kv && shape.heads <= 1 && p->kv_len <= 512 && !(p->options & ATTN_OPTION_INDEX),
    };
}

const struct attn_kernel *attn_kernel_best(const struct attn_problem *problem, int threads)
{
    const char *why;
    if (!attn_problem_valid(problem, &why))
        return NULL;
    const struct attn_kernel *measured = attn_wisdom_choice(problem, threads);
    if (measured)
        return measured;
    const struct shape shape = shape_of(problem, threads);
    for (size_t i = 0; i < sizeof preference / sizeof *preference; i++) {
        if (!preference[i].due(&shape))
            continue;
        const bool avoid = preference[i].avoid && preference[i].avoid(&shape);
        const struct attn_kernel *kernel = preferred(preference[i].name, avoid, problem);
        if (kernel)
            return kernel;
    }
    return NULL;
}
