/*
 * tiled for a matrix unit: blocks of queries and keys as in tiled.c, multiplied 16 x 16 at a time.
 *
 * matrix_unit.h says what the unit wants: K and V packed.  A product takes 16 cycles, and packing a tile for
 * it, an element at a time as here, half a microsecond: a packed tile must serve many rows, so a block has
 * 256 of them (docs/attention.md has the times).  Between the products lies the softmax of whole rows, as in
 * the definition; weights are rounded to bf16 for the second one.  An element of V that is infinite or NaN
 * must not reach rows that do not see it, and 0 times it is NaN: it is packed as 0, and then added to the
 * rows that see it.
 *
 *   memory    reads K and V once per ROWS rows, and packs them as often
 *   parallel  over (batch, KV head, ROWS rows), the longest first
 *   scratch   per thread ROWS rows of kv_len scores and weights, of Q and of O, and some keys packed
 *   instead   flash: softmax between the products of each block, whose scores then stay in L1
 */
#include <omp.h>

#include "element.h"
#include "matrix_unit.h"
#include "shared/row_blocks.h"
#include "shared/softmax.h"
#include "shared/terms.h"

/* Lengths of rows, and where a thread's parts lie, in reals from the start of its scratch. */
struct parts {
    ptrdiff_t depth, width, columns;
    size_t s, o, p, packed, all;
};

static struct parts parts_of(const struct attn_problem *problem)
{
    struct parts at = {.depth = (ptrdiff_t)attn_round_up(problem->qk_dim, DEPTH),
                       .width = (ptrdiff_t)attn_round_up(problem->kv_len, DEPTH),
                       .columns = (ptrdiff_t)attn_round_up(problem->v_dim, SIDE)};
    const size_t keys = (size_t)(at.depth / DEPTH), values = (size_t)(at.columns / SIDE);
    at.s = ROWS * (size_t)at.depth / 2;
    at.o = at.s + ROWS * (size_t)at.width;
    at.p = at.o + ROWS * (size_t)at.columns;
    at.packed = at.p + ROWS * (size_t)at.width / 2;
    at.all = at.packed + (keys > values ? keys : values) * (sizeof(pairs) / sizeof(real));
    return at;
}

static size_t workspace_size(const struct attn_problem *problem, int threads)
{
    return attn_threads_bytes(threads, parts_of(problem).all);
}

/* ---- products ------------------------------------------------------------------------------ */

/* S = Q K^T for keys [j, j + n), n <= SIDE. */
static void score_keys(struct block *block, ptrdiff_t j, ptrdiff_t n)
{
    pack_keys(block, j, n);
    for (ptrdiff_t r = 0; r < (ptrdiff_t)block->rows.rows; r += SIDE)
        multiply(block->s + r * block->width + j - block->first, block->width,
                 block->q + r * block->depth, block->depth, block->packed, block->depth / DEPTH,
                 false);
}

static struct terms row_terms(const struct block *block, size_t r)
{
    const struct group_block *rows = &block->rows;
    return terms_of(rows->problem, block->t, &rows->sequence, rows->b, group_head(rows, r),
                    group_query(rows, r));
}

/* Adds what pack_values() left out of V to row r, as far as the row sees it. */
static void add_left_out(struct block *block, size_t r, ptrdiff_t j, ptrdiff_t n)
{
    const struct attn_range seen = group_visible(&block->rows, r);
    const struct terms terms = row_terms(block, r);
    const real *weights = block->s + (ptrdiff_t)r * block->width - block->first;
    real *o = block->o + (ptrdiff_t)r * block->columns;
    for (ptrdiff_t key = j; key < j + n; key++) {
        const uint16_t *v = keys_row(&block->source, &block->t->v, key);
        if (key < seen.lo || key >= seen.hi || terms_hides(&terms, key))
            continue;
        for (size_t d = 0; d < block->rows.problem->v_dim; d++)
            if (!is_finite(v[d]))
                o[d] += weights[key] * attn_bf16_to_f32(v[d]);
    }
}

/* O += P V for keys [j, j + n), n <= DEPTH. */
static void weigh_values(struct block *block, ptrdiff_t j, ptrdiff_t n)
{
    const bool all = pack_values(block, j, n);
    for (ptrdiff_t r = 0; r < (ptrdiff_t)block->rows.rows; r += SIDE)
        for (ptrdiff_t d = 0; d < block->columns; d += SIDE)
            multiply(block->o + r * block->columns + d, block->columns,
                     block->p + r * block->width + j - block->first, block->width,
                     block->packed + d / SIDE, 1, true);
    for (size_t r = 0; !all && r < block->rows.rows; r++)
        add_left_out(block, r, j, n);
}

/* ---- rows ---------------------------------------------------------------------------------- */

/* The block's rows of Q, and rows of 0 up to a whole tile. */
static void load_rows(struct block *block)
{
    const size_t row = (size_t)block->depth * sizeof *block->q;
    memset(block->q, 0, ROWS * row);
    for (size_t r = 0; r < block->rows.rows; r++)
        memcpy(block->q + (ptrdiff_t)r * block->depth, group_row(&block->rows, &block->t->q, r),
               block->rows.problem->qk_dim * sizeof *block->q);
}

/* The products of row r become its weights; what it does not see is 0 in p. */
static void weigh_row(struct block *block, size_t r)
{
    const struct attn_problem *problem = block->rows.problem;
    const struct attn_range seen = group_visible(&block->rows, r);
    const struct terms terms = row_terms(block, r);
    const ptrdiff_t n = seen.lo < seen.hi ? seen.hi - seen.lo : 0;
    const ptrdiff_t at = (ptrdiff_t)r * block->width + (n ? seen.lo - block->first : 0);
    real *x = block->s + at;
    row_scale(x, x, attn_scale_real(problem), (size_t)n);
    terms_apply(&terms, seen.lo, n, x);
    const real sink = softmax_sink(problem, block->t, group_head(&block->rows, r));
    block->m[r] = softmax_max(x, n, sink);
    block->l[r] =
        softmax_sink_exp(sink, block->m[r]) + softmax_exp(x, n, softmax_shift(block->m[r]));
    row_narrow(block->p + at, ATTN_BF16, x, 1, (size_t)n);
}

/* Row r of the results, divided by its sum. */
static void store_row(const struct block *block, size_t r)
{
    const struct attn_problem *problem = block->rows.problem;
    const struct attn_tensors *t = block->t;
    const real inverse = softmax_inverse(block->l[r]);
    const struct attn_range seen = group_visible(&block->rows, r);
    if (problem->outputs & ATTN_OUTPUT_O)
        row_narrow(group_row(&block->rows, &t->o, r), ATTN_BF16,
                   block->o + r * (size_t)block->columns, inverse, problem->v_dim);
    if (problem->outputs & ATTN_OUTPUT_LSE)
        *group_row_real(&block->rows, &t->lse, r) = softmax_log(block->m[r], block->l[r]);
    if (problem->outputs & ATTN_OUTPUT_WEIGHTS) {
        const struct terms terms = row_terms(block, r);
        real *weights = group_row_real(&block->rows, &t->weights, r);
        memset(weights, 0, problem->kv_len * sizeof *weights);
        for (ptrdiff_t j = seen.lo; j < seen.hi; j++)
            weights[j] = inverse * block->s[(ptrdiff_t)r * block->width + j - block->first];
        terms_clear(&terms, seen.lo, seen.hi - seen.lo, weights + seen.lo);
    }
}

static ptrdiff_t least(ptrdiff_t a, ptrdiff_t b)
{
    return a < b ? a : b;
}

static void run_block(void *state, const struct group_block *rows)
{
    struct block *block = state;
    const struct attn_range seen = rows->seen;
    block->rows = *rows;
    block->source = keys_of(block->t, rows);
    block->first = seen.lo;
    load_rows(block);
    for (ptrdiff_t j = seen.lo; j < seen.hi; j += SIDE)
        score_keys(block, j, least(seen.hi - j, SIDE));
    memset(block->p, 0, ROWS * (size_t)block->width * sizeof *block->p);
    for (size_t r = 0; r < block->rows.rows; r++)
        weigh_row(block, r);
    memset(block->o, 0, ROWS * (size_t)block->columns * sizeof *block->o);
    if (block->rows.problem->outputs & ATTN_OUTPUT_O)
        for (ptrdiff_t j = seen.lo; j < seen.hi; j += DEPTH)
            weigh_values(block, j, least(seen.hi - j, DEPTH));
    for (size_t r = 0; r < block->rows.rows; r++)
        store_row(block, r);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    const struct attn_problem *p = &plan->problem;
#pragma omp parallel num_threads(plan->threads)
    {
        const struct parts at = parts_of(p);
        real *q = attn_thread_scratch(plan, omp_get_thread_num());
        struct block block = {.t = tensors,
                              .depth = at.depth,
                              .width = at.width,
                              .columns = at.columns,
                              .q = (uint16_t *)q,
                              .s = q + at.s,
                              .o = q + at.o,
                              .p = (uint16_t *)(q + at.p),
                              .packed = (pairs *)(q + at.packed)};
        tiles_configure();
        row_blocks_run(p, tensors, ROWS, run_block, &block);
        tiles_release();
    }
}

const struct attn_kernel ATTN_KERNEL = {
    .size = sizeof(struct attn_kernel),
    .name = "tiled",
    .summary = "blocks of queries and keys from cache, multiplied in tiles of a matrix unit",
    .source = "Goto and van de Geijn 2008, doi:10.1145/1356052.1356053",
    .isa = ATTN_KERNEL_ISA,
    .caps.size = sizeof(struct attn_caps),
    .caps.dtypes = ATTN_BIT(ATTN_BF16),
    .caps.masks = ATTN_MASKS_ALL,
    .caps.options = ATTN_OPTIONS_ALL,
    .caps.outputs = ATTN_OUTPUTS_ALL,
    .caps.forward = true,
    .caps.parallel = true,
    .caps.compute = ATTN_BF16,
    .supports = row_blocks_support,
    .workspace_size = workspace_size,
    .execute = execute,
};
