/*
 * row_parallel: every query row on its own, as many at once as there are threads.
 *
 * Rows of attention do not depend on each other, so the outer loops of `naive` may run in any
 * order: OpenMP hands rows out, the longest first where a causal mask makes them unequal, and a
 * thread takes the next few when it has finished.  Within a row the dot products and the weighted
 * sum are vectors along the head dimension.
 *
 *   memory    reads K and V once per query row; a row uses each element once, so the rate is
 *             that of whichever cache holds K and V, one load a multiply-add
 *   parallel  over (batch, query head, query), handed out ROWS at a time
 *   scratch   one row of kv_len scores, or of a list's, per thread; KEYS rows of K or V where they are
 *             copied (keys.h)
 *   instead   tiled where many queries could share what is read, split_kv where there are fewer
 *             rows than threads
 */
#include <omp.h>

#include "shared/either.h"
#include "shared/query.h"
#include "shared/softmax.h"

enum {
    KEYS = 256, /* in one call of a product: beside so many the loads of O do not count */
    /* Handed out at once: few enough to balance the end of the work, enough that K and V of one head
     * are still in cache for the next row. */
    ROWS = 4
};

static size_t workspace_size(const struct attn_problem *problem, int threads)
{
    return attn_threads_bytes(threads, query_most(problem) + query_copy_reals(problem, KEYS));
}

/* weights[0, kv_len): the visible keys' exponentials times 1 / l, else 0. */
static void store_weights(const struct query *query, const real *exponentials, real inverse)
{
    real *weights = query_row(query, &query->keys.tensors->weights);
    const struct attn_range seen = query->seen;
    memset(weights, 0, query->keys.problem->kv_len * sizeof *weights);
    for (ptrdiff_t n = 0; query->keys.list && n < seen.hi; n++)
        if (!terms_hides_entry(&query->terms, n))
            weights[query->keys.list[n]] = inverse * exponentials[n];
    if (query->keys.list)
        return;
    row_scale(weights + seen.lo, exponentials, inverse, (size_t)(seen.hi - seen.lo));
    terms_clear(&query->terms, seen.lo, seen.hi - seen.lo, weights + seen.lo);
}

static void row(const struct attn_problem *problem, const struct attn_tensors *t, size_t b,
                size_t h, size_t i, real *scores)
{
    struct query query;
    if (!query_find(&query, problem, t, b, h, i))
        return;
    const ptrdiff_t n = query.seen.hi - query.seen.lo;
    real *copy = scores + query_most(problem);

    bool hidden = false;
    for (ptrdiff_t x = 0; x < n; x += KEYS)
        hidden |=
            query_scores(&query, query.seen.lo + x, n - x < KEYS ? n - x : KEYS, copy, scores + x);
    const real sink = softmax_sink(problem, t, h);
    const real m = softmax_max(scores, n, sink);
    const real l = softmax_exp(scores, n, softmax_shift(m)) + softmax_sink_exp(sink, m);
    const real inverse = softmax_inverse(l);

    if (problem->outputs & ATTN_OUTPUT_LSE)
        *query_row(&query, &t->lse) = softmax_log(m, l);
    if (problem->outputs & ATTN_OUTPUT_WEIGHTS)
        store_weights(&query, scores, inverse);
    if (problem->outputs & ATTN_OUTPUT_O) {
        real *o = query_row(&query, &t->o);
        memset(o, 0, problem->v_dim * sizeof *o);
        for (ptrdiff_t x = 0; x < n; x += KEYS)
            query_weigh(&query, hidden, query.seen.lo + x, n - x < KEYS ? n - x : KEYS, copy,
                        scores + x, o);
        row_scale(o, o, inverse, problem->v_dim);
    }
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    const struct attn_problem *p = &plan->problem;
    const size_t rows = p->batch * p->q_heads * p->q_len; /* of one turn wake no other thread */
#pragma omp parallel num_threads(plan->threads) if (rows > ROWS)
    {
        real *scores = attn_thread_scratch(plan, omp_get_thread_num());
#pragma omp for collapse(3) schedule(dynamic, ROWS)
        for (size_t b = 0; b < p->batch; b++)
            for (size_t h = 0; h < p->q_heads; h++)
                for (size_t left = p->q_len; left > 0; left--)
                    row(p, tensors, b, h, left - 1, scores);
    }
}

const struct attn_kernel ATTN_KERNEL = {
    .size = sizeof(struct attn_kernel),
    .name = "row_parallel",
    .summary = "OpenMP over query rows, each row in vectors along the head dimension",
    .source = "Vaswani et al. 2017, arXiv:1706.03762, equation 1",
    .isa = ATTN_KERNEL_ISA,
    .caps.size = sizeof(struct attn_caps),
    .caps.dtypes = EITHER_DTYPES,
    .caps.kv_dtypes = ATTN_DTYPES_SCALED,
    .caps.masks = ATTN_MASKS_ALL,
    .caps.options = ATTN_OPTIONS_ALL | ATTN_OPTION_INDEX,
    .caps.outputs = ATTN_OUTPUTS_ALL,
    .caps.forward = true,
    .caps.parallel = true,
    .caps.compute = ATTN_F32,
    .workspace_size = either_workspace_size,
    .execute = either_execute,
};
