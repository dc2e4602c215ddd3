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
 * What options add to scores, and what operands hide, is looked up row by row and turned into lanes.
 *
 *   memory    reads K and V once per TILE rows
 *   parallel  over (batch, KV head, tile), the longest tiles first
 *   scratch   per thread TILE rows of kv_len scores, of Q and of O, and KEYS rows of K or V where
 *             they are copied (keys.h); scores leave L2 from kv_len of about 4096
 *   instead   flash: online softmax keeps the scores in L1; row_parallel or split_kv for decode,
 *             where most lanes are empty
 */
#include <omp.h>

#include "shared/either.h"
#include "shared/row_blocks.h"
#include "shared/softmax.h"
#include "tiled_tile.h"

/* Where a thread's parts lie, in reals from the start of its scratch. */
struct parts {
    size_t s, o, copy, added, all;
};

static struct parts parts_of(const struct attn_problem *problem)
{
    struct parts at = {.s = problem->qk_dim * TILE};
    at.o = at.s + problem->kv_len * TILE;
    at.copy = at.o + problem->v_dim * TILE;
    at.added = at.copy + (keys_copied(problem) ? keys_room(problem, KEYS) : 0);
    at.all = at.added + (terms_any(problem) ? KEYS * TILE : 0);
    return at;
}

static size_t workspace_size(const struct attn_problem *problem, int threads)
{
    return attn_threads_bytes(threads, parts_of(problem).all);
}

/* Notes what row r of the tile sees.  Lanes without a row see nothing. */
static void look(struct tile *tile, size_t r)
{
    const struct group_block *rows = &tile->rows;
    const bool used = r < rows->rows;
    const size_t h = group_head(rows, r);
    const struct attn_range seen = used ? group_visible(rows, r) : (struct attn_range){0, 0};
    tile->lo[r] = (real_int)seen.lo;
    tile->hi[r] = (real_int)seen.hi;
    tile->sink[r] = used ? softmax_sink(rows->problem, tile->t, h) : -INFINITY;
    tile->m[r] = tile->sink[r];
    if (used)
        tile->terms[r] =
            terms_of(rows->problem, tile->t, &rows->sequence, rows->b, h, group_query(rows, r));
}

/* Transposes the tile's rows of Q. */
static void load_rows(struct tile *tile)
{
    const size_t dim = tile->rows.problem->qk_dim;
    const real scale = attn_scale_real(tile->rows.problem);
    tile->columns = ((ptrdiff_t)tile->rows.rows + COLUMN - 1) / COLUMN;
    memset(tile->q, 0, dim * TILE * sizeof *tile->q);
    for (size_t r = 0; r < TILE; r++)
        look(tile, r);
    for (size_t r = 0; r < tile->rows.rows; r++) {
        const real *q = group_row_real(&tile->rows, &tile->t->q, r);
        for (size_t d = 0; d < dim; d++)
            tile->q[d * TILE + r] = scale * q[d];
    }
}

/* Scores of keys [j, j + n) get what stands beside the product; -inf where hidden, also instead of NaN. */
static void add_terms(struct tile *tile, ptrdiff_t j, ptrdiff_t n)
{
    const vf minus = vf_set1(-INFINITY);
    real row[KEYS];
    for (size_t r = 0; r < tile->rows.rows; r++) {
        terms_added(&tile->terms[r], j, n, row);
        for (ptrdiff_t key = 0; key < n; key++)
            tile->added[key * TILE + (ptrdiff_t)r] = row[key];
    }
    for (ptrdiff_t key = 0; key < n; key++)
        for (ptrdiff_t r = 0; r < tile->columns * COLUMN; r += VF_LANES) {
            real *s = tile->s + (j + key) * TILE + r;
            const vf added = vf_load(tile->added + key * TILE + r);
            const vf score = terms_capped(tile->terms, vf_load(s)) + added;
            vf_store(s, vf_select((vi)(added == minus), minus, score));
        }
}

/* Scores of keys [j, j + n): product, options, mask, and the rows' maxima. */
static void score_block(struct tile *tile, ptrdiff_t j, ptrdiff_t n)
{
    const ptrdiff_t dim = (ptrdiff_t)tile->rows.problem->qk_dim;
    ptrdiff_t stride;
    const real *k = keys_reals(&tile->source, &tile->t->k, j, n, (size_t)dim, tile->copy, &stride);
    product(tile, tile->s + j * TILE, k, stride, 1, tile->q, n, dim, false);
    if (terms_change(&tile->terms[0], j, n))
        add_terms(tile, j, n);
    const bool edge = group_edge(&tile->rows, j, n);
    for (ptrdiff_t r = 0; r < tile->columns * COLUMN; r += VF_LANES) {
        vf m = vf_load(tile->m + r);
        for (ptrdiff_t key = j; key < j + n; key++) {
            real *s = tile->s + key * TILE + r;
            if (edge)
                vf_store(s, vf_select(sees(tile, r, key), vf_load(s), vf_set1(-INFINITY)));
            m = vf_max(vf_load(s), m);
        }
        vf_store(tile->m + r, m);
    }
}

/* As `product`, for keys that not all rows see and whose V holds an infinity or NaN.  Times a
 * weight of 0 these would be NaN, so each row takes the keys that it sees. */
static void weigh_what_rows_see(struct tile *tile, const real *v, ptrdiff_t stride, ptrdiff_t j,
                                ptrdiff_t n)
{
    for (size_t r = 0; r < tile->rows.rows; r++)
        for (ptrdiff_t key = 0; key < n; key++) {
            if (j + key < tile->lo[r] || j + key >= tile->hi[r] ||
                terms_hides(&tile->terms[r], j + key))
                continue;
            const real p = tile->s[(j + key) * TILE + (ptrdiff_t)r];
            for (size_t d = 0; d < tile->rows.problem->v_dim; d++)
                tile->o[d * TILE + r] += p * v[key * stride + (ptrdiff_t)d];
        }
}

/* Scores of keys [j, j + n) become weights; l grows by their sums. */
static void exp_block(struct tile *tile, ptrdiff_t j, ptrdiff_t n)
{
    for (ptrdiff_t r = 0; r < tile->columns * COLUMN; r += VF_LANES) {
        const vf shift = softmax_shift_each(vf_load(tile->m + r));
        vf l = {0};
        for (ptrdiff_t key = j; key < j + n; key++) {
            const vf p = exp_precise(vf_load(tile->s + key * TILE + r) - shift);
            vf_store(tile->s + key * TILE + r, p);
            l += p;
        }
        vf_store(tile->l + r, vf_load(tile->l + r) + l);
    }
}

/* o += weights * V of keys [j, j + n). */
static void weigh_block(struct tile *tile, ptrdiff_t j, ptrdiff_t n)
{
    if (!(tile->rows.problem->outputs & ATTN_OUTPUT_O))
        return;
    const ptrdiff_t dim = (ptrdiff_t)tile->rows.problem->v_dim;
    ptrdiff_t stride;
    const real *v = keys_reals(&tile->source, &tile->t->v, j, n, (size_t)dim, tile->copy, &stride);
    const bool cut = group_edge(&tile->rows, j, n) || terms_may_hide(tile->rows.problem);
    if (cut && !rows_finite(v, stride, n, (size_t)dim))
        weigh_what_rows_see(tile, v, stride, j, n);
    else
        product(tile, tile->o, v, 1, stride, tile->s + j * TILE, dim, n, true);
}

/* Row r of the results, out of the lanes and divided by the sum. */
static void store_row(const struct tile *tile, size_t r)
{
    const struct attn_problem *p = tile->rows.problem;
    const struct attn_tensors *t = tile->t;
    const real inverse = softmax_inverse(tile->l[r]);
    if (p->outputs & ATTN_OUTPUT_O) {
        real *o = group_row_real(&tile->rows, &t->o, r);
        for (size_t d = 0; d < p->v_dim; d++)
            o[d] = inverse * tile->o[d * TILE + r];
    }
    if (p->outputs & ATTN_OUTPUT_LSE)
        *group_row_real(&tile->rows, &t->lse, r) = softmax_log(tile->m[r], tile->l[r]);
    if (p->outputs & ATTN_OUTPUT_WEIGHTS) {
        real *weights = group_row_real(&tile->rows, &t->weights, r);
        memset(weights, 0, p->kv_len * sizeof *weights);
        for (ptrdiff_t j = tile->lo[r]; j < tile->hi[r]; j++)
            weights[j] = inverse * tile->s[j * TILE + (ptrdiff_t)r];
        terms_clear(&tile->terms[r], tile->lo[r], tile->hi[r] - tile->lo[r], weights + tile->lo[r]);
    }
}

VF_NOINLINE void run_tile(void *state, const struct group_block *rows)
{
    struct tile *tile = state;
    tile->rows = *rows;
    tile->source = keys_of(tile->t, rows);
    load_rows(tile);
    const struct attn_range seen = tile->rows.seen;
    for (ptrdiff_t j = seen.lo; j < seen.hi; j += KEYS)
        score_block(tile, j, seen.hi - j < KEYS ? seen.hi - j : KEYS);
    for (size_t r = 0; r < TILE; r++)
        tile->l[r] = softmax_sink_exp(tile->sink[r], tile->m[r]);
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
#pragma omp parallel num_threads(plan->threads)
    {
        const struct parts at = parts_of(p);
        real *q = attn_thread_scratch(plan, omp_get_thread_num());
        struct tile tile = {.t = tensors,
                            .q = q,
                            .s = q + at.s,
                            .o = q + at.o,
                            .copy = q + at.copy,
                            .added = q + at.added};
        row_blocks_run(p, tensors, TILE, run_tile, &tile);
    }
}

const struct attn_kernel ATTN_KERNEL = {
    .size = sizeof(struct attn_kernel),
    .name = "tiled",
    .summary = "blocks of queries and keys from cache, queries in the lanes of vectors",
    .source = "Goto and van de Geijn 2008, doi:10.1145/1356052.1356053",
    .isa = ATTN_KERNEL_ISA,
    .caps.size = sizeof(struct attn_caps),
    .caps.dtypes = EITHER_DTYPES,
    .caps.kv_dtypes = ATTN_DTYPES_SCALED,
    .caps.masks = ATTN_MASKS_ALL,
    .caps.options = ATTN_OPTIONS_ALL,
    .caps.outputs = ATTN_OUTPUTS_ALL,
    .caps.forward = true,
    .caps.parallel = true,
    .caps.compute = ATTN_F32,
    .supports = row_blocks_support,
    .workspace_size = either_workspace_size,
    .execute = either_execute,
};
