/*
 * gemm: two library matrix products with a softmax between them, as most people write attention.
 *
 *     S = scale Q K^T      sgemm
 *     P = exp(S - m)       one pass over each row while the block of S is in cache
 *     O = O + P V          sgemm
 *
 * The rival to beat, so it is given every advantage that needs no micro-kernel of its own: blocks
 * of ROWS x KEYS scores that stay in L2, a running maximum instead of a second pass, all query
 * heads of a KV head in one product (decode is a product of `group` rows, not that many
 * matrix-vector calls), keys that no row of the block sees are not multiplied, nor rows that see
 * no key of it, and the library's core type as blas.h says.
 *
 *   memory    reads K and V once per ROWS query rows, and again where the library packs them
 *   parallel  over (batch, KV head, block of rows), the longest first; each call of the library on
 *             one thread: OpenMP as in any parallel region, a library with threads of its own is
 *             set to one for the whole process by the first plan
 *   scratch   per thread ROWS rows of Q, of KEYS scores (of kv_len where weights are wanted) and
 *             of O; the library's own buffers come on top
 *   instead   flash, which has the micro-kernel and packs nothing
 */
#include <cblas.h>
#include <limits.h>
#include <omp.h>

#include "blas.h"
#include "shared/group.h"
#include "shared/rows.h"
#include "shared/softmax.h"

/* Measured on Zen 4 (2026-11-21, OpenBLAS 0.3.21): sgemm alone is as fast from 128 rows and 128 keys on; fewer keys on
 * the mask's edge waste less of a product whose result is partly masked. */
enum { ROWS = 192, KEYS = 256, EDGE_KEYS = 64 };

/* What a thread works on. */
struct block {
    struct group_block rows;
    const struct attn_tensors *t;
    const float *q; /* rows x qk_dim, q_stride elements apart */
    ptrdiff_t q_stride;
    float *packed; /* the same, where they are not a matrix as they lie */
    float *s;      /* rows x keys: scores, then weights before division by l */
    float *o;      /* rows x v_dim */
    ptrdiff_t keys;
    struct attn_range range[ROWS]; /* what each row sees */
    float m[ROWS], l[ROWS];        /* running maximum and sum (see online) */
};

static size_t block_rows(const struct attn_problem *problem)
{
    return group_rows(problem) < ROWS ? group_rows(problem) : ROWS;
}

/* Weights need all scores of a row at once. */
static size_t block_keys(const struct attn_problem *problem)
{
    const bool all = problem->outputs & ATTN_OUTPUT_WEIGHTS || problem->kv_len < KEYS;
    return all ? problem->kv_len : KEYS;
}

static bool supports(const struct attn_problem *problem, const char **why)
{
    if (problem->kv_len <= INT_MAX && problem->qk_dim <= INT_MAX && problem->v_dim <= INT_MAX)
        return true;
    *why = "a length of 2^31 or more";
    return false;
}

static size_t workspace_size(const struct attn_problem *problem, int threads)
{
    return attn_threads_bytes(
        threads, block_rows(problem) * (problem->qk_dim + problem->v_dim + block_keys(problem)));
}

static void prepare(struct attn_plan *plan)
{
    (void)plan;
    attn_blas_one_thread();
}

/* Whether the library takes these rows as a matrix. */
static bool is_matrix(ptrdiff_t stride, size_t dim)
{
    return stride >= (ptrdiff_t)dim && stride <= INT_MAX;
}

/* The rows of Q as a matrix: where they lie, or copied together. */
static void load_queries(struct block *block)
{
    const struct attn_tensor *q = &block->t->q;
    const struct attn_problem *p = block->rows.problem;
    const size_t dim = p->qk_dim;
    if (p->q_heads == p->kv_heads && is_matrix(q->stride[2], dim)) {
        block->q = group_row_f32(&block->rows, q, 0);
        block->q_stride = q->stride[2];
        return;
    }
    for (size_t r = 0; r < block->rows.rows; r++)
        memcpy(block->packed + r * dim, group_row_f32(&block->rows, q, r), dim * sizeof(float));
    block->q = block->packed;
    block->q_stride = (ptrdiff_t)dim;
}

static void load_rows(struct block *block)
{
    for (size_t r = 0; r < block->rows.rows; r++) {
        block->range[r] = group_visible(&block->rows, r);
        block->m[r] = -INFINITY;
        block->l[r] = 0;
    }
    memset(block->o, 0, block->rows.rows * block->rows.problem->v_dim * sizeof *block->o);
    load_queries(block);
}

/* What row r sees of keys [j, j + n), counted from j. */
static struct attn_range part(const struct block *block, size_t r, ptrdiff_t j, ptrdiff_t n)
{
    struct attn_range a = block->range[r];
    a.lo = a.lo > j ? a.lo - j : 0;
    a.hi = a.hi - j < n ? a.hi - j : n;
    if (a.hi <= a.lo)
        a.lo = a.hi = 0;
    return a;
}

/* s = scale * q k^T for rows [r, end) and keys [j, j + n). */
static void scores(struct block *block, size_t r, size_t end, ptrdiff_t j, ptrdiff_t n)
{
    const size_t dim = block->rows.problem->qk_dim;
    const ptrdiff_t stride = block->t->k.stride[2];
    const float scale = softmax_scale(block->rows.problem);
    const float *k = attn_row_f32(&block->t->k, block->rows.b, block->rows.g, (size_t)j);
    if (is_matrix(stride, dim))
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)(end - r), (int)n, (int)dim,
                    scale, block->q + (ptrdiff_t)r * block->q_stride, (int)block->q_stride, k,
                    (int)stride, 0, block->s + (ptrdiff_t)r * block->keys, (int)block->keys);
    else
        for (; r < end; r++)
            row_scores(block->q + (ptrdiff_t)r * block->q_stride, k, stride, n, dim, scale,
                       block->s + (ptrdiff_t)r * block->keys);
}

/* Scores of row r on keys [j, j + n) become weights, 0 where it does not see the key; the row's
 * maximum, sum and output follow. */
static void weights(struct block *block, size_t r, ptrdiff_t j, ptrdiff_t n)
{
    const struct attn_range seen = part(block, r, j, n);
    float *s = block->s + (ptrdiff_t)r * block->keys;
    const float m = softmax_max(s + seen.lo, seen.hi - seen.lo, block->m[r]);
    if (m > block->m[r] && block->l[r] != 0) {
        const float shrink = exp2f(block->m[r] - m);
        float *o = block->o + r * block->rows.problem->v_dim;
        row_scale(o, o, shrink, block->rows.problem->v_dim);
        block->l[r] *= shrink;
    }
    block->m[r] = m;
    block->l[r] += softmax_exp2(s + seen.lo, seen.hi - seen.lo, softmax_shift(m));
    if (seen.lo > 0)
        memset(s, 0, (size_t)seen.lo * sizeof *s);
    if (seen.hi < n)
        memset(s + seen.hi, 0, (size_t)(n - seen.hi) * sizeof *s);
}

/* o += s v for rows [r, end) and keys [j, j + n).  A weight of 0 hides a key from the product
 * unless its V holds an infinity or NaN; then each row takes its own keys alone. */
static void weigh(struct block *block, size_t r, size_t end, ptrdiff_t j, ptrdiff_t n)
{
    const size_t dim = block->rows.problem->v_dim;
    const ptrdiff_t stride = block->t->v.stride[2];
    const float *v = attn_row_f32(&block->t->v, block->rows.b, block->rows.g, (size_t)j);
    const bool leaks = group_edge(&block->rows, j, n) && !rows_finite(v, stride, n, dim);
    if (is_matrix(stride, dim) && !leaks)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)(end - r), (int)dim, (int)n, 1,
                    block->s + (ptrdiff_t)r * block->keys, (int)block->keys, v, (int)stride, 1,
                    block->o + r * dim, (int)dim);
    else
        for (; r < end; r++) {
            const struct attn_range seen = part(block, r, j, n);
            row_weigh(block->o + r * dim, block->s + (ptrdiff_t)r * block->keys + seen.lo,
                      v + seen.lo * stride, stride, seen.hi - seen.lo, dim);
        }
}

/* How many keys to take from j on: up to the next change between edge and full. */
static ptrdiff_t step(const struct block *block, ptrdiff_t j)
{
    const struct attn_range full = block->rows.full;
    const bool inside = j >= full.lo && j < full.hi;
    ptrdiff_t end = block->rows.seen.hi;
    if (block->rows.problem->outputs & ATTN_OUTPUT_WEIGHTS)
        return end - j;
    if (j < full.lo && full.lo < end)
        end = full.lo;
    if (inside && full.hi < end)
        end = full.hi;
    const ptrdiff_t most = inside ? KEYS : EDGE_KEYS;
    return end - j < most ? end - j : most;
}

static void store_row(const struct block *block, size_t r)
{
    const struct attn_problem *p = block->rows.problem;
    const struct attn_tensors *t = block->t;
    const float inverse = softmax_inverse(block->l[r]);
    if (p->outputs & ATTN_OUTPUT_O)
        row_scale(group_row_f32(&block->rows, &t->o, r), block->o + r * p->v_dim, inverse,
                  p->v_dim);
    if (p->outputs & ATTN_OUTPUT_LSE)
        *group_row_f32(&block->rows, &t->lse, r) = softmax_lse(block->m[r], block->l[r]);
    if (p->outputs & ATTN_OUTPUT_WEIGHTS) {
        const struct attn_range range = block->range[r];
        float *row = group_row_f32(&block->rows, &t->weights, r);
        memset(row, 0, p->kv_len * sizeof *row);
        if (range.lo < range.hi)
            row_scale(row + range.lo,
                      block->s + (ptrdiff_t)r * block->keys + range.lo - block->rows.seen.lo,
                      inverse, (size_t)(range.hi - range.lo));
    }
}

static void run_block(struct block *block)
{
    load_rows(block);
    ptrdiff_t n;
    for (ptrdiff_t j = block->rows.seen.lo; j < block->rows.seen.hi; j += n) {
        n = step(block, j);
        size_t r = 0, end = block->rows.rows;
        while (part(block, r, j, n).hi == 0)
            r++;
        while (part(block, end - 1, j, n).hi == 0)
            end--;
        scores(block, r, end, j, n);
        for (size_t row = r; row < end; row++)
            weights(block, row, j, n);
        weigh(block, r, end, j, n);
    }
    for (size_t r = 0; r < block->rows.rows; r++)
        store_row(block, r);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    const struct attn_problem *p = &plan->problem;
    const size_t blocks = (group_rows(p) + ROWS - 1) / ROWS;
#pragma omp parallel num_threads(plan->threads)
    {
        omp_set_num_threads(1); /* of this region's tasks: what an OpenMP library goes by */
        float *packed = attn_thread_scratch(plan, omp_get_thread_num());
        float *o = packed + block_rows(p) * p->qk_dim;
        struct block block = {.t = tensors,
                              .packed = packed,
                              .o = o,
                              .s = o + block_rows(p) * p->v_dim,
                              .keys = (ptrdiff_t)block_keys(p)};
#pragma omp for collapse(3) schedule(dynamic, 1)
        for (size_t b = 0; b < p->batch; b++)
            for (size_t g = 0; g < p->kv_heads; g++)
                for (size_t left = blocks; left > 0; left--) {
                    block.rows = group_block_at(p, b, g, left - 1, ROWS);
                    run_block(&block);
                }
    }
}

const struct attn_kernel ATTN_KERNEL = {
    .size = sizeof(struct attn_kernel),
    .name = "gemm",
    .summary = "two library GEMMs (CBLAS) and a vectorised softmax: what people write today",
    .source = "Vaswani et al. 2017, arXiv:1706.03762, as products; the BLAS library's sgemm",
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
    .prepare = prepare,
    .execute = execute,
};
