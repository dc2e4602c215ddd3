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
 *   types     sgemm multiplies floats: 16-bit elements are widened on their way (gemm_f32.h); variant
 *             avx512_bf16 calls the product of bf16 (gemm_bf16.h) that MKL has and few builds of OpenBLAS
 *   library   compiled once for each: gemm calls what the program is linked with, gemm_blis and
 *             gemm_mkl what is loaded when they run (rivals/blas_library.h)
 *   memory    reads K and V once per ROWS query rows, and again where the library packs them
 *   parallel  over (batch, KV head, block of rows), the longest first; each call of the library on
 *             one thread: OpenMP as in any parallel region, a library with threads of its own is
 *             set to one for the whole process by the first plan
 *   scratch   per thread ROWS rows of Q, of KEYS scores (of kv_len where weights are wanted) and
 *             of O; KEYS rows of K or V that are not floats or lie in pages, and for bf16 the scores
 *             rounded; the library's own buffers come on top
 *   instead   flash, which has the micro-kernel and packs nothing
 */
#include <omp.h>

#include "shared/row_blocks.h"
#include "shared/softmax.h"
#ifdef __AVX512BF16__
#include "gemm_bf16.h"
#else
#include "gemm_f32.h"
#endif

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

/* Where a thread's parts lie, in floats from the start of its scratch. */
struct parts {
    size_t packed, o, s, p, wide, all;
};

static struct parts parts_of(const struct attn_problem *problem)
{
    const size_t rows = block_rows(problem), keys = block_keys(problem);
    struct parts at = {.packed = 0};
    at.o = at.packed + rows * problem->qk_dim;
    at.s = at.o + rows * problem->v_dim;
    at.p = at.s + rows * keys;
    at.wide = at.p + (GEMM_ROUNDS_P ? (rows * keys + 1) / 2 : 0);
    at.all = at.wide + (keys_copied(problem) ? keys_room(problem, keys) : 0) +
             (GEMM_CBLAS.reads_on ? VF_LANES : 0);
    return at;
}

static size_t workspace_size(const struct attn_problem *problem, int threads)
{
    return attn_threads_bytes(threads, parts_of(problem).all);
}

static void prepare(struct attn_plan *plan)
{
    GEMM_CBLAS.one_thread();
    plan->refusal = refusal();
}

static void load_rows(struct block *block)
{
    const struct group_block *rows = &block->rows;
    for (size_t r = 0; r < rows->rows; r++) {
        const size_t h = group_head(rows, r);
        const float sink = softmax_sink(rows->problem, block->t, h);
        block->range[r] = group_visible(rows, r);
        block->terms[r] =
            terms_of(rows->problem, block->t, &rows->sequence, rows->b, h, group_query(rows, r));
        block->m[r] = sink;
        block->l[r] = softmax_sink_exp(sink, sink);
    }
    memset(block->o, 0, rows->rows * rows->problem->v_dim * sizeof *block->o);
    load_queries(block);
}

/* Scores of row r on keys [j, j + n) become weights, 0 where it does not see the key; the row's
 * maximum, sum and output follow. */
static void weights(struct block *block, size_t r, ptrdiff_t j, ptrdiff_t n)
{
    const struct attn_range seen = part(block, r, j, n);
    const ptrdiff_t count = seen.hi - seen.lo;
    float *s = block->s + (ptrdiff_t)r * block->keys;
    block->hidden |= terms_apply(&block->terms[r], j + seen.lo, count, s + seen.lo);
    const float m = softmax_max(s + seen.lo, count, block->m[r]);
    if (m > block->m[r] && block->l[r] != 0) {
        const float shrink = expf(block->m[r] - m);
        float *o = block->o + r * block->rows.problem->v_dim;
        row_scale(o, o, shrink, block->rows.problem->v_dim);
        block->l[r] *= shrink;
    }
    block->m[r] = m;
    block->l[r] += softmax_exp(s + seen.lo, count, softmax_shift(m));
    if (seen.lo > 0)
        memset(s, 0, (size_t)seen.lo * sizeof *s);
    if (seen.hi < n)
        memset(s + seen.hi, 0, (size_t)(n - seen.hi) * sizeof *s);
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
        row_narrow(group_row(&block->rows, &t->o, r), t->o.dtype, block->o + r * p->v_dim, inverse,
                   p->v_dim);
    if (p->outputs & ATTN_OUTPUT_LSE)
        *group_row_real(&block->rows, &t->lse, r) = softmax_log(block->m[r], block->l[r]);
    if (p->outputs & ATTN_OUTPUT_WEIGHTS) {
        const struct attn_range range = block->range[r];
        float *row = group_row_real(&block->rows, &t->weights, r);
        memset(row, 0, p->kv_len * sizeof *row);
        if (range.lo < range.hi)
            row_scale(row + range.lo,
                      block->s + (ptrdiff_t)r * block->keys + range.lo - block->rows.seen.lo,
                      inverse, (size_t)(range.hi - range.lo));
        terms_clear(&block->terms[r], range.lo, range.hi - range.lo, row + range.lo);
    }
}

static void run_block(void *state, const struct group_block *rows)
{
    struct block *block = state;
    block->rows = *rows;
    block->source = keys_of(block->t, rows);
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
        block->hidden = false;
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
#pragma omp parallel num_threads(plan->threads)
    {
        omp_set_num_threads(1); /* of this region's tasks: what an OpenMP library goes by */
        const struct parts at = parts_of(p);
        float *scratch = attn_thread_scratch(plan, omp_get_thread_num());
        struct block block = {.t = tensors,
                              .packed = scratch + at.packed,
                              .o = scratch + at.o,
                              .s = scratch + at.s,
                              .p = (uint16_t *)(scratch + at.p),
                              .wide = scratch + at.wide,
                              .keys = (ptrdiff_t)block_keys(p)};
        row_blocks_run(p, tensors, ROWS, run_block, &block);
    }
}

const struct attn_kernel ATTN_KERNEL = {
    .size = sizeof(struct attn_kernel),
    .name = GEMM_NAME,
    .summary = "two GEMMs of " GEMM_LIBRARY " and a vectorised softmax: what people write today",
    .source = "Vaswani et al. 2017, arXiv:1706.03762, as products; the BLAS library's sgemm",
    .isa = ATTN_KERNEL_ISA,
    .library = &GEMM_CBLAS.library,
    .caps.size = sizeof(struct attn_caps),
    .caps.dtypes = GEMM_DTYPES,
    .caps.kv_dtypes = GEMM_KV_DTYPES,
    .caps.masks = ATTN_MASKS_ALL,
    .caps.options = ATTN_OPTIONS_ALL,
    .caps.outputs = ATTN_OUTPUTS_ALL,
    .caps.forward = true,
    .caps.parallel = true,
    .caps.compute = GEMM_COMPUTE,
    .supports = row_blocks_support,
    .workspace_size = workspace_size,
    .prepare = prepare,
    .execute = execute,
};
