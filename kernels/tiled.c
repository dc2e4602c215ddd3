/*
 * tiled: blocks of queries against blocks of keys, so that K and V are read from cache.
 *
 * `row_parallel` fetches all of K and V for each query.  Here TILE queries are computed together:
 * a block of KEYS keys is fetched once, stays in L1 and serves them all, and a register holds a
 * piece of the result while a whole block goes through it (Goto and van de Geijn 2008).
 * Softmax still comes between two complete products, as in the definition: first all scores of
 * the tile, then their exponentials and the weighted sum.
 *
 * Queries lie in the lanes of vectors, S^T = K Q^T and O^T = V^T P^T.  Q is transposed once per
 * tile; K and V are read where they lie, an element at a time, and each element meets COLUMN
 * queries.  Both products are then the same loop (`product`), and maximum, sum and mask are lane
 * by lane, with no horizontal step.  A tile takes its rows from all query heads of one KV head,
 * position by position, which also is what makes a causal tile's rows see nearly the same keys.
 *
 *   memory    reads K and V once per TILE rows
 *   parallel  over (batch, KV head, tile), the longest tiles first
 *   scratch   per thread TILE rows of kv_len scores, of Q and of O; scores leave L2 from kv_len
 *             of about 4096
 *   instead   flash: online softmax keeps the scores in L1; row_parallel or split_kv for decode,
 *             where most lanes are empty
 */
#include <omp.h>

#include "shared/group.h"
#include "shared/rows.h"
#include "shared/softmax.h"

enum {
    TILE = 64,             /* query rows computed together */
    KEYS = 64,             /* keys a block: 16 KB of K at D = 64, half of an L1 */
    COLUMN = 2 * VF_LANES, /* rows whose results are in registers at once: two vectors */
#if defined __AVX512F__
    STEPS = 8 /* by COLUMN: 16 of 32 registers hold sums, 10 loads feed 16 multiply-adds */
#else
    STEPS = 4 /* 8 of 16 registers */
#endif
};

/* What a thread works on.  Arrays are [..][TILE]: one row of the tile per lane. */
struct tile {
    struct group_block rows;
    const struct attn_tensors *t;
    ptrdiff_t columns; /* COLUMNs in use, the last one possibly in part */
    int32_t lo[TILE], hi[TILE];
    float m[TILE], l[TILE];
    float *q; /* qk_dim x TILE, times the scale */
    float *s; /* kv_len x TILE: scores, then weights before division by l */
    float *o; /* v_dim x TILE */
};

static size_t floats_per_thread(const struct attn_problem *problem)
{
    return (problem->qk_dim + problem->kv_len + problem->v_dim) * TILE;
}

static bool supports(const struct attn_problem *problem, const char **why)
{
    if (problem->kv_len <= INT32_MAX && problem->qk_dim <= INT32_MAX && problem->v_dim <= INT32_MAX)
        return true;
    *why = "a length of 2^31 or more";
    return false;
}

static size_t workspace_size(const struct attn_problem *problem, int threads)
{
    return attn_threads_bytes(threads, floats_per_thread(problem));
}

/* Transposes the tile's rows of Q and notes what each sees.  Lanes without a row see nothing. */
static void load_rows(struct tile *tile)
{
    const size_t dim = tile->rows.problem->qk_dim;
    const float scale = softmax_scale(tile->rows.problem);
    tile->columns = ((ptrdiff_t)tile->rows.rows + COLUMN - 1) / COLUMN;
    memset(tile->q, 0, dim * TILE * sizeof *tile->q);
    for (size_t r = 0; r < TILE; r++) {
        const bool used = r < tile->rows.rows;
        const struct attn_range seen =
            used ? group_visible(&tile->rows, r) : (struct attn_range){0, 0};
        tile->lo[r] = (int32_t)seen.lo;
        tile->hi[r] = (int32_t)seen.hi;
        tile->m[r] = -INFINITY;
        tile->l[r] = 0;
        if (!used)
            continue;
        const float *q = group_row_f32(&tile->rows, &tile->t->q, r);
        for (size_t d = 0; d < dim; d++)
            tile->q[d * TILE + r] = scale * q[d];
    }
}

/* c[n][COLUMN] = or += sum over k of a[n][k] b[k][COLUMN], for n < steps, a constant. */
static inline __attribute__((always_inline)) void product_steps(float *c, const float *a,
                                                                ptrdiff_t a_n, ptrdiff_t a_k,
                                                                const float *b, ptrdiff_t depth,
                                                                bool add, int steps)
{
    vf sum[STEPS][2];
    for (int n = 0; n < steps; n++) {
        sum[n][0] = add ? vf_load(c + n * TILE) : (vf){0};
        sum[n][1] = add ? vf_load(c + n * TILE + VF_LANES) : (vf){0};
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
        vf_store(c + n * TILE, sum[n][0]);
        vf_store(c + n * TILE + VF_LANES, sum[n][1]);
    }
}

/* c[n][r] = or += sum over k < depth of a[n][k] b[k][r], for n < count and every row r of the
 * tile; a_n and a_k are the strides of a. */
static inline __attribute__((always_inline)) void
product(const struct tile *tile, float *c, const float *a, ptrdiff_t a_n, ptrdiff_t a_k,
        const float *b, ptrdiff_t count, ptrdiff_t depth, bool add)
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

/* All ones in the lanes of rows r, r + 1, ... that see key j. */
static vi sees(const struct tile *tile, ptrdiff_t r, ptrdiff_t j)
{
    vi lo, hi;
    memcpy(&lo, tile->lo + r, sizeof lo);
    memcpy(&hi, tile->hi + r, sizeof hi);
    const vi key = (int32_t)j - (vi){0};
    return (vi)(lo <= key) & (vi)(key < hi);
}

/* Scores of keys [j, j + n): product, mask, and the rows' maxima. */
static void score_block(struct tile *tile, ptrdiff_t j, ptrdiff_t n)
{
    const struct attn_tensor *k = &tile->t->k;
    product(tile, tile->s + j * TILE, attn_row_f32(k, tile->rows.b, tile->rows.g, (size_t)j),
            k->stride[2], 1, tile->q, n, (ptrdiff_t)tile->rows.problem->qk_dim, false);
    const bool edge = group_edge(&tile->rows, j, n);
    for (ptrdiff_t r = 0; r < tile->columns * COLUMN; r += VF_LANES) {
        vf m = vf_load(tile->m + r);
        for (ptrdiff_t key = j; key < j + n; key++) {
            float *s = tile->s + key * TILE + r;
            if (edge)
                vf_store(s, vf_select(sees(tile, r, key), vf_load(s), vf_set1(-INFINITY)));
            m = vf_max(vf_load(s), m);
        }
        vf_store(tile->m + r, m);
    }
}

/* As `product`, for keys that not all rows see and whose V holds an infinity or NaN.  Times a
 * weight of 0 these would be NaN, so the lanes that do not see a key are left out. */
static void weigh_what_rows_see(struct tile *tile, ptrdiff_t j, ptrdiff_t n)
{
    for (ptrdiff_t key = j; key < j + n; key++) {
        const float *v = attn_row_f32(&tile->t->v, tile->rows.b, tile->rows.g, (size_t)key);
        for (size_t d = 0; d < tile->rows.problem->v_dim; d++)
            for (ptrdiff_t r = 0; r < tile->columns * COLUMN; r += VF_LANES) {
                float *o = tile->o + (ptrdiff_t)d * TILE + r;
                const vf term = vf_load(tile->s + key * TILE + r) * vf_set1(v[d]);
                vf_store(o, vf_load(o) + vf_select(sees(tile, r, key), term, (vf){0}));
            }
    }
}

/* Scores of keys [j, j + n) become weights; l grows by their sums. */
static void exp_block(struct tile *tile, ptrdiff_t j, ptrdiff_t n)
{
    for (ptrdiff_t r = 0; r < tile->columns * COLUMN; r += VF_LANES) {
        const vf shift = softmax_shift_each(vf_load(tile->m + r));
        vf l = vf_load(tile->l + r);
        for (ptrdiff_t key = j; key < j + n; key++) {
            const vf p = exp2_precise(vf_load(tile->s + key * TILE + r) - shift);
            vf_store(tile->s + key * TILE + r, p);
            l += p;
        }
        vf_store(tile->l + r, l);
    }
}

/* o += weights * V of keys [j, j + n). */
static void weigh_block(struct tile *tile, ptrdiff_t j, ptrdiff_t n)
{
    if (!(tile->rows.problem->outputs & ATTN_OUTPUT_O))
        return;
    const ptrdiff_t dim = (ptrdiff_t)tile->rows.problem->v_dim, stride = tile->t->v.stride[2];
    const float *v = attn_row_f32(&tile->t->v, tile->rows.b, tile->rows.g, (size_t)j);
    const bool edge = group_edge(&tile->rows, j, n);
    if (edge && !rows_finite(v, stride, n, (size_t)dim))
        weigh_what_rows_see(tile, j, n);
    else
        product(tile, tile->o, v, 1, stride, tile->s + j * TILE, dim, n, true);
}

/* Row r of the results, out of the lanes and divided by the sum. */
static void store_row(const struct tile *tile, size_t r)
{
    const struct attn_problem *p = tile->rows.problem;
    const struct attn_tensors *t = tile->t;
    const float inverse = softmax_inverse(tile->l[r]);
    if (p->outputs & ATTN_OUTPUT_O) {
        float *o = group_row_f32(&tile->rows, &t->o, r);
        for (size_t d = 0; d < p->v_dim; d++)
            o[d] = inverse * tile->o[d * TILE + r];
    }
    if (p->outputs & ATTN_OUTPUT_LSE)
        *group_row_f32(&tile->rows, &t->lse, r) = softmax_lse(tile->m[r], tile->l[r]);
    if (p->outputs & ATTN_OUTPUT_WEIGHTS) {
        float *weights = group_row_f32(&tile->rows, &t->weights, r);
        memset(weights, 0, p->kv_len * sizeof *weights);
        for (ptrdiff_t j = tile->lo[r]; j < tile->hi[r]; j++)
            weights[j] = inverse * tile->s[j * TILE + (ptrdiff_t)r];
    }
}

static void run_tile(struct tile *tile)
{
    load_rows(tile);
    const struct attn_range seen = tile->rows.seen;
    for (ptrdiff_t j = seen.lo; j < seen.hi; j += KEYS)
        score_block(tile, j, seen.hi - j < KEYS ? seen.hi - j : KEYS);
    memset(tile->o, 0, tile->rows.problem->v_dim * TILE * sizeof *tile->o);
    for (ptrdiff_t j = seen.lo; j < seen.hi; j += KEYS) {
        const ptrdiff_t n = seen.hi - j < KEYS ? seen.hi - j : KEYS;
        exp_block(tile, j, n);
        weigh_block(tile, j, n);
    }
    for (size_t r = 0; r < tile->rows.rows; r++)
        store_row(tile, r);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    const struct attn_problem *p = &plan->problem;
    const size_t tiles = (group_rows(p) + TILE - 1) / TILE;
#pragma omp parallel num_threads(plan->threads)
    {
        float *q = attn_thread_scratch(plan, omp_get_thread_num());
        float *s = q + p->qk_dim * TILE;
        struct tile tile = {.t = tensors, .q = q, .s = s, .o = s + p->kv_len * TILE};
#pragma omp for collapse(3) schedule(dynamic, 1)
        for (size_t b = 0; b < p->batch; b++)
            for (size_t g = 0; g < p->kv_heads; g++)
                for (size_t left = tiles; left > 0; left--) {
                    tile.rows = group_block_at(p, b, g, left - 1, TILE);
                    run_tile(&tile);
                }
    }
}

const struct attn_kernel ATTN_KERNEL = {
    .size = sizeof(struct attn_kernel),
    .name = "tiled",
    .summary = "blocks of queries and keys from cache, queries in the lanes of vectors",
    .source = "Goto and van de Geijn 2008, doi:10.1145/1356052.1356053",
    .isa = ATTN_KERNEL_ISA,
    .caps.size = sizeof(struct attn_caps),
    .caps.dtypes = ATTN_BIT(ATTN_F32),
    .caps.masks = ATTN_MASKS_POSITIONAL,
    .caps.options = ATTN_OPTION_WINDOW,
    .caps.outputs = ATTN_OUTPUTS_ALL,
    .caps.forward = true,
    .caps.parallel = true,
    .caps.compute = ATTN_F32,
    .supports = supports,
    .workspace_size = workspace_size,
    .execute = execute,
};
