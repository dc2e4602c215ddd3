/*
 * products.h: part of kernel flash: scores, weights and results by register tiles, in the
 * arithmetic of the variant.
 *
 * An object file has one arithmetic.  products_f32.h, products_bf16.h and matrices.h, with products_loops.h,
 * define the same names:
 *
 *   FLASH_DTYPES, FLASH_KV_DTYPES, FLASH_COMPUTE  what the descriptor says of it
 *   key_element      of K, as it is multiplied
 *   PAIR             elements that one instruction multiplies and adds to one sum: 1, 2 or 4
 *   FLASH_SPECULATES whether score_and_exp() pays
 *   packs            whether pack() may copy anything
 *   pack             sets the block's k and v, copied into block->packed where the others want that
 *   load_queries     fills t->q
 *   score_tile       scores of `rows` keys for `cols` vectors of queries
 *   exponentials     scores of some rows become weights, l grows by their sums
 *   score_and_exp    scores of a whole register tile and, between its multiply-adds, the weights of
 *                    the FLASH_ROWS rows before it, with their sums; not where VF_FACTOR_IN_LANE, but
 *   score_sums       products of a register tile that store_scores() makes scores of
 *   store_weights_of stores the weights of a whole register tile; adds them up
 *   value_tile       o += weights * V for `rows` value dimensions and `cols` vectors of queries
 *   first_value, value_column  where the values of row `from` begin; where its dimension d is
 *   values_finite    whether rows [from, to) of V hold neither infinity nor NaN
 *   value_at, weight_at  element d of row j of V; weights of row j in a column
 */
#ifndef ATTN_FLASH_PRODUCTS_H
#define ATTN_FLASH_PRODUCTS_H

#include "maximum.h"
#include "shared/simd_bf16.h"

#if BF16_MATRICES
#include "matrices.h"
#elif BF16_PAIRS
#include "products_bf16.h"
#else
#include "products_f32.h"
#endif
#include "products_loops.h"

/* ---- register tiles -------------------------------------------------------------------------- */

/* A function for a register tile of constant size, so that the compiler unrolls it. */
#define REGISTER_TILE(name, make, arguments, rows, cols) \
    static void name(const struct arguments *args)       \
    {                                                    \
        make(rows, cols, *args);                         \
    }
/* One for each number of columns. */
#if FLASH_COLS == 4
#define REGISTER_TILES(name, make, arguments, rows)   \
    REGISTER_TILE(name##_1, make, arguments, rows, 1) \
    REGISTER_TILE(name##_2, make, arguments, rows, 2) \
    REGISTER_TILE(name##_3, make, arguments, rows, 3) \
    REGISTER_TILE(name##_4, make, arguments, rows, 4)
#define OF_COLUMNS(name)                       \
    {                                          \
        name##_1, name##_2, name##_3, name##_4 \
    }
#define OF_FEW_COLUMNS(name) \
    {                        \
        name##_1, name##_2   \
    }
#else
#define REGISTER_TILES(name, make, arguments, rows)   \
    REGISTER_TILE(name##_1, make, arguments, rows, 1) \
    REGISTER_TILE(name##_2, make, arguments, rows, 2)
#define OF_COLUMNS(name)   \
    {                      \
        name##_1, name##_2 \
    }
#endif
REGISTER_TILES(score_full, score_tile, score_args, FLASH_ROWS)
REGISTER_TILES(score_4, score_tile, score_args, 4)
REGISTER_TILES(score_2, score_tile, score_args, 2)
REGISTER_TILES(score_1, score_tile, score_args, 1)
REGISTER_TILES(value_full, value_tile, value_args, FLASH_ROWS)
REGISTER_TILES(value_4, value_tile, value_args, 4)
REGISTER_TILES(value_2, value_tile, value_args, 2)
REGISTER_TILES(value_1, value_tile, value_args, 1)

#if FLASH_STACK > 1
VF_INLINE void score_stack(const int rows, const int cols, struct score_args a)
{
#pragma GCC unroll 1
    for (int r = 0; r < rows; r += FLASH_ROWS) {
        score_tile(FLASH_ROWS, cols, a);
        a.k = (const key_element *)a.k + FLASH_ROWS * a.k_stride;
        a.to.s += FLASH_ROWS * FLASH_TILE;
    }
}

VF_INLINE void value_stack(const int rows, const int cols, struct value_args a)
{
    const void *first = a.v;
#pragma GCC unroll 1
    for (int r = 0; r < rows; r += FLASH_ROWS) {
        a.v = value_column(first, a.v_stride, r);
        value_tile(FLASH_ROWS, cols, a);
        a.o += FLASH_ROWS * FLASH_TILE;
    }
}
REGISTER_TILES(score_stack, score_stack, score_args, FLASH_STACK *FLASH_ROWS)
REGISTER_TILES(value_stack, value_stack, value_args, FLASH_STACK *FLASH_ROWS)
#endif

#if FLASH_DIRECT
REGISTER_TILE(score_12_1, score_tile, score_args, 12, 1)
REGISTER_TILE(score_12_2, score_tile, score_args, 12, 2)
REGISTER_TILE(value_12_1, value_tile, value_args, 12, 1)
REGISTER_TILE(value_12_2, value_tile, value_args, 12, 2)
REGISTER_TILE(weigh_12_1, weigh_tile, weigh_args, 12, 1)
REGISTER_TILE(weigh_12_2, weigh_tile, weigh_args, 12, 2)
REGISTER_TILES(weigh_full, weigh_tile, weigh_args, FLASH_ROWS)
REGISTER_TILES(weigh_4, weigh_tile, weigh_args, 4)
REGISTER_TILES(weigh_2, weigh_tile, weigh_args, 2)
REGISTER_TILES(weigh_1, weigh_tile, weigh_args, 1)
#define WEIGH(name) , OF_COLUMNS(name)
#else
#define WEIGH(name)
#endif

/* Any number of rows is a sum of these heights, the highest that fits taken first. */
static const struct register_tile {
    int rows;
    void (*score[FLASH_COLS])(const struct score_args *args); /* for one column and more */
    void (*value[FLASH_COLS])(const struct value_args *args);
#if FLASH_DIRECT
    void (*weigh[FLASH_COLS])(const struct weigh_args *args);
#endif
} register_tiles[] = {
#if FLASH_STACK > 1
    {FLASH_STACK * FLASH_ROWS, OF_COLUMNS(score_stack), OF_COLUMNS(value_stack)},
#endif
#if FLASH_DIRECT
    {12, OF_FEW_COLUMNS(score_12), OF_FEW_COLUMNS(value_12), OF_FEW_COLUMNS(weigh_12)},
#endif
    {FLASH_ROWS, OF_COLUMNS(score_full), OF_COLUMNS(value_full) WEIGH(weigh_full)},
    {4, OF_COLUMNS(score_4), OF_COLUMNS(value_4) WEIGH(weigh_4)},
    {2, OF_COLUMNS(score_2), OF_COLUMNS(value_2) WEIGH(weigh_2)},
    {1, OF_COLUMNS(score_1), OF_COLUMNS(value_1) WEIGH(weigh_1)},
};

/* The first register tile for so many rows: the highest that fits, but 8 rows are two of 4, not 6 and
 * 2. */
static inline const struct register_tile *tile_of(int rows, int cols)
{
    const struct register_tile *tile = register_tiles;
    while (tile->rows > rows || !tile->value[cols - 1] || (rows == 8 && tile->rows == 6))
        tile++;
    return tile;
}

/* Calls for so many rows. */
static inline size_t count_calls(size_t n)
{
    const size_t rows = FLASH_ROWS, stack = FLASH_STACK * rows;
    return FLASH_STACK > 1 ? n / stack + (n % stack + rows - 1) / rows : (n + rows - 1) / rows;
}

/* Calls for a tile of queries and so many keys: after each comes one of prefetch_share(). */
static size_t count_register_tiles(const struct job *job, int keys)
{
    return count_calls((size_t)keys) + count_calls((size_t)job->v_dim);
}

/* ---- scores and results ---------------------------------------------------------------------- */

/* Bytes of `rows` rows of a block's K. */
VF_INLINE ptrdiff_t key_bytes(const struct block *block, int rows)
{
    return rows * block->k_stride * (ptrdiff_t)sizeof(key_element);
}

/* Before a register tile of so many steps: what its loop is to fetch, or, fetched at once, nothing. */
VF_INLINE struct fetch fetch_meanwhile(const struct block *block, int steps)
{
    if (FLASH_DIRECT)
        return prefetch_lines(block->prefetch, (size_t)steps / FETCH_STEPS);
    prefetch_share(block->prefetch);
    return (struct fetch){0};
}

/* The m that a tile's scores are relative to, and where their maximum goes. */
VF_INLINE struct score_target relative_to(const struct tile *t, vf top[FLASH_COLS])
{
    return (struct score_target){.m = t->m, .floor = t->floor, .top = top};
}

static const vf no_start[FLASH_COLS]; /* what scores begin at that are stored as they are */

/* For the scores from row `row` and column `col` on. */
VF_INLINE struct score_args scores_from(const struct block *block, const struct tile *t, int col,
                                        int row, struct score_target to)
{
    return (struct score_args){
        .k = (const char *)block->k + key_bytes(block, row),
        .k_stride = block->k_stride,
        .q = t->q + col * VF_LANES,
        .dim = (block->job->qk_dim + PAIR - 1) / PAIR,
        .scale = block->job->scale,
        .start = no_start,
        .to = {block->s + row * FLASH_TILE + col * VF_LANES, to.m + col, to.floor + col,
               to.top + col},
    };
}

/* For the scores `rows` further down. */
VF_INLINE void scores_advance(const struct block *block, int rows, struct score_args *args)
{
    args->k = (const char *)args->k + key_bytes(block, rows);
    args->to.s += rows * FLASH_TILE;
}

/* Scores of rows [from, to) for the strip's columns. */
VF_NOINLINE void score_rows(const struct block *block, const struct tile *t,
                            const struct strip *strip, int from, int to, struct score_target target)
{
    struct score_args args = scores_from(block, t, strip->col, from, target);
    for (int rows; from < to; from += rows) {
        const struct register_tile *tile = tile_of(to - from, strip->cols);
        rows = tile->rows;
        args.fetch = fetch_meanwhile(block, args.dim);
        tile->score[strip->cols - 1](&args);
        scores_advance(block, rows, &args);
    }
}

#if !FLASH_DIRECT
/* Scores of the strip become weights, 2^(score - shift), 2^score without shift; l grows by their
 * sums. */
VF_NOINLINE void exp_strip(const struct block *block, struct tile *t, const struct strip *strip,
                           const vf *shift)
{
    float *s = block->s + strip->from * FLASH_TILE + strip->col * VF_LANES;
    const int keys = strip->to - strip->from;
    vf *l = t->l + strip->col;
    if (strip->cols == 1 && shift)
        exponentials(1, EXPONENT_SHIFTED, s, keys, shift + strip->col, 1, l);
    else if (strip->cols == 1)
        exponentials(1, EXPONENT_READY, s, keys, t->m, 1, l);
    else if (shift)
        exponentials(2, EXPONENT_SHIFTED, s, keys, shift, 1, l);
    else
        exponentials(2, EXPONENT_READY, s, keys, t->m, 1, l);
}
#endif

/* Weights of unshifted scores are 2^((score - m) * unit). */
VF_NOINLINE void exp_strip_scaled(const struct block *block, struct tile *t,
                                  const struct strip *strip)
{
    const int keys = strip->to - strip->from, end = strip->col + strip->cols;
    const float unit = block->job->unit;
    for (int c = strip->col; c < end; c += 2) {
        float *s = block->s + strip->from * FLASH_TILE + c * VF_LANES;
        if (c + 1 == end)
            exponentials(1, EXPONENT_SCALED, s, keys, t->m + c, unit, t->l + c);
        else
            exponentials(2, EXPONENT_SCALED, s, keys, t->m + c, unit, t->l + c);
    }
}

/* o += weights * V of rows [from, to) for the strip's columns; `fresh`: o = that. */
VF_NOINLINE void add_values(const struct block *block, const struct tile *t,
                            const struct strip *strip, int from, int to, bool fresh)
{
    const int col = strip->col * VF_LANES;
    const void *first = first_value(block, from);
    if (from == to) {
        if (fresh) /* what the strip's columns hold is all that counts */
            memset(t->o, 0, (size_t)block->job->v_dim * FLASH_TILE * sizeof *t->o);
        return;
    }
    struct value_args args = {
        .v_stride = block->v_stride,
        .p = block->s + from * FLASH_TILE + col,
        .steps = (to - from + PAIR - 1) / PAIR,
        .o = t->o + col,
        .fresh = fresh,
    };
    for (int d = 0, rows; d < block->job->v_dim; d += rows) {
        const struct register_tile *tile = tile_of(block->job->v_dim - d, strip->cols);
        rows = tile->rows;
        args.v = value_column(first, args.v_stride, d);
        args.fetch = fetch_meanwhile(block, args.steps);
        tile->value[strip->cols - 1](&args);
        args.o += rows * FLASH_TILE;
    }
}

#if FLASH_SPECULATES
/* ---- scores and weights at once, speculatively ----------------------------------------------- */

/*
 * A tile's first keys: m becomes their maximum, and the scores of these FLASH_ROWS rows, with top,
 * are made relative to it.  (A margin above it would make m rise less often, but make all weights
 * smaller, and products of theirs with subnormal values would lose their last bits.)  A tile that
 * has seen keys keeps its m.  False where m is still not known (scores that are NaN or -inf), or is
 * so low that it has to rise.
 */
static inline bool speculate_from(const struct block *block, struct tile *t, vf top[FLASH_COLS])
{
    if (!tile_has_new_lane(t))
        return !tile_exceeded(t, top);
    vf shifts[FLASH_COLS];
    bool far;
    const vf *shift = tile_raise(t, top, shifts, block->job->v_dim, &far);
    for (int c = 0; shift && c < FLASH_COLS; c++) {
        top[c] -= shift[c];
        for (float *s = block->s + c * VF_LANES; s < block->s + FLASH_ROWS * FLASH_TILE;
             s += FLASH_TILE)
            vf_store(s, vf_at_least(t->floor[c], vf_load(s) - shift[c]));
    }
    return !far && !(shift && tile_has_new_lane(t));
}

/*
 * A score of the FLASH_ROWS rows at `s` exceeds its limit: lets m rise, and makes relative to the
 * new one these scores, with top, and the float32 weights of the rows before, with their sum.
 * False where the scores have to be made anew.
 */
static inline bool raise_meanwhile(const struct block *block, struct tile *t, float *s,
                                   vf top[FLASH_COLS], vf sum[FLASH_COLS])
{
    vf shifts[FLASH_COLS];
    bool far;
    const vf *shift = tile_raise(t, top, shifts, block->job->v_dim, &far);
    for (int c = 0; shift && c < FLASH_COLS; c++) {
        const vf factor = exp2_any(-vf_max(shift[c], vf_set1(0)));
        top[c] -= shift[c];
        sum[c] *= factor;
        float *at = block->s + c * VF_LANES;
        for (; at < s; at += FLASH_TILE)
            vf_store(at, vf_load(at) * factor);
        for (; at < s + FLASH_ROWS * FLASH_TILE; at += FLASH_TILE)
            vf_store(at, vf_at_least(t->floor[c], vf_load(at) - shift[c]));
    }
    return !far;
}

#if VF_FACTOR_IN_LANE
#define EXP_STACK \
    (2 * FLASH_STACK) /* register tiles of a call: each saves and restores registers */

/* Scores of a whole register tile, less m, become weights in registers; sum grows by them.  False where one
 * exceeds its limit: they are stored as scores. */
VF_INLINE bool score_then_exp(const struct score_args *a, vf sum[FLASH_COLS])
{
    vf x[FLASH_HIGHEST][FLASH_COLS];
    vf top[2] = {vf_set1(-INFINITY),
                 vf_set1(-INFINITY)}; /* as a maximum waits for the one before it */
    score_sums(FLASH_ROWS, FLASH_COLS, a, x);
    VF_UNROLL
    for (int c = 0; c < FLASH_COLS; c++) {
        const vf m = a->to.m[c];
        VF_UNROLL
        for (int r = 0; r < FLASH_ROWS; r++) {
            x[r][c] = vf_at_least(vf_set1(EXP2_FLOOR), x[r][c] - m);
            top[r % 2] = vf_max(x[r][c], top[r % 2]);
        }
    }
    if (vf_any_above(vf_max(top[0], top[1]), LAZY_LIMIT)) {
        store_results(FLASH_ROWS, FLASH_COLS, a->to.s, x);
        return false;
    }
    store_weights_of(x, a->to.s, sum);
    return true;
}

/* The same of some register tiles, until one has such a score; returns how many are weights. */
VF_NOINLINE int score_then_exp_stack(const struct score_args *args, int tiles, vf sum[FLASH_COLS])
{
    struct score_args a = *args;
    vf sums[FLASH_COLS];
    memcpy(sums, sum, sizeof sums);
    int done = 0;
    while (done < tiles && score_then_exp(&a, sums)) {
        a.k = (const key_element *)a.k + FLASH_ROWS * a.k_stride;
        a.to.s += FLASH_ROWS * FLASH_TILE;
        done++;
    }
    memcpy(sum, sums, sizeof sums);
    return done;
}

/* Maxima of the FLASH_ROWS rows of scores at s. */
static inline void find_top(const float *s, vf top[FLASH_COLS])
{
    for (int c = 0; c < FLASH_COLS; c++) {
        top[c] = vf_set1(-INFINITY);
        for (int r = 0; r < FLASH_ROWS; r++)
            top[c] = vf_max(vf_load(s + r * FLASH_TILE + c * VF_LANES), top[c]);
    }
}

/*
 * Scores and weights of a block that all queries see whole, in whole register tiles, with l.  What an
 * exponential does takes the pipes of the multiply-adds, so that nothing is gained by doing both at once; but
 * scores that are made weights where they are need not be stored.  If they make m rise, weights in float32
 * that exist already are scaled; joined ones cannot be.  False: as below.
 */
VF_NOINLINE bool score_and_exp_block(const struct block *block, struct tile *t)
{
    vf top[FLASH_COLS] = {vf_set1(-INFINITY), vf_set1(-INFINITY)}, sum[FLASH_COLS] = {{0}};
    struct score_args args = scores_from(block, t, 0, 0, relative_to(t, top));
    int left = block->keys / FLASH_ROWS;
    if (tile_has_new_lane(t)) {
        score_full_2(&args);
        if (!speculate_from(block, t, top))
            return false;
        exponentials(FLASH_COLS, EXPONENT_READY, args.to.s, FLASH_ROWS, t->m, 1, sum);
        scores_advance(block, FLASH_ROWS, &args);
        left--;
    }
    while (left > 0) {
        const int tiles = left < EXP_STACK ? left : EXP_STACK;
        for (int i = 0; i < tiles; i += FLASH_STACK)
            prefetch_share(block->prefetch);
        const int done = score_then_exp_stack(&args, tiles, sum);
        scores_advance(block, done * FLASH_ROWS, &args);
        left -= done;
        if (done == tiles)
            continue;
        find_top(args.to.s, top);
        if (PAIR > 1 || !raise_meanwhile(block, t, args.to.s, top, sum))
            return false;
        exponentials(FLASH_COLS, EXPONENT_READY, args.to.s, FLASH_ROWS, t->m, 1, sum);
        scores_advance(block, FLASH_ROWS, &args);
        left--;
    }
    for (int c = 0; c < FLASH_COLS; c++)
        t->l[c] += sum[c];
    return true;
}
#else
/*
 * Scores and weights of a block that all queries see whole, in whole register tiles, with l.  The
 * weights of a register tile's rows are made between the products of the next one's, before it is
 * known whether these scores make m rise (flash.c says what that gains).  If they do, weights in
 * float32 are scaled; those joined in pairs cannot be.  False: m was too low to go on with, and
 * nothing that counts has changed but m.  The block is then to be begun again.
 */
VF_NOINLINE bool score_and_exp_block(const struct block *block, struct tile *t)
{
    vf top[FLASH_COLS], sum[FLASH_COLS];
    for (int c = 0; c < FLASH_COLS; c++) {
        top[c] = vf_set1(-INFINITY);
        sum[c] = vf_set1(0);
    }
    struct score_args args = scores_from(block, t, 0, 0, relative_to(t, top));
    score_full_2(&args);
    if (!speculate_from(block, t, top))
        return false;
    for (int done = FLASH_ROWS; done < block->keys; done += FLASH_ROWS) {
        prefetch_share(block->prefetch);
        scores_advance(block, FLASH_ROWS, &args);
        score_and_exp(args, sum);
        if (tile_exceeded(t, top) && (PAIR > 1 || !raise_meanwhile(block, t, args.to.s, top, sum)))
            return false;
    }
    prefetch_share(block->prefetch);
    exponentials(FLASH_COLS, EXPONENT_READY, args.to.s, FLASH_ROWS, t->m, 1, sum);
    for (int c = 0; c < FLASH_COLS; c++)
        t->l[c] += sum[c];
    return true;
}
#endif
#endif

#endif
