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
 *   scratch   one row of kv_len scores per thread
 *   instead   tiled where many queries could share what is read, split_kv where there are fewer
 *             rows than threads
 */
#include <omp.h>

#include "shared/rows.h"
#include "shared/softmax.h"

/* Rows handed out at once: few enough to balance the end of the work, enough that K and V of one
 * head are still in cache for the next row. */
enum { ROWS = 4 };

static size_t workspace_size(const struct attn_problem *problem, int threads)
{
    return attn_threads_bytes(threads, problem->kv_len);
}

/* weights[0, kv_len): what stands in scores[0, n) times factor at the visible keys, else 0. */
static void store_weights(float *weights, struct attn_range seen, size_t kv_len,
                          const float *scores, float factor)
{
    memset(weights, 0, kv_len * sizeof *weights);
    row_scale(weights + seen.lo, scores, factor, (size_t)(seen.hi - seen.lo));
}

static void row(const struct attn_problem *problem, const struct attn_tensors *t, size_t b,
                size_t h, size_t i, float *scores)
{
    const struct attn_range seen = attn_visible(problem, (ptrdiff_t)i);
    const ptrdiff_t n = seen.hi - seen.lo;
    const size_t g = attn_kv_head(problem, h);

    row_scores(attn_row_f32(&t->q, b, h, i), attn_row_f32(&t->k, b, g, (size_t)seen.lo),
               t->k.stride[2], n, problem->qk_dim, softmax_scale(problem), scores);
    const float m = softmax_max(scores, n, -INFINITY);
    const float l = softmax_exp2(scores, n, softmax_shift(m));
    const float inverse = softmax_inverse(l);

    if (problem->outputs & ATTN_OUTPUT_O) {
        float *o = attn_row_f32(&t->o, b, h, i);
        memset(o, 0, problem->v_dim * sizeof *o);
        row_weigh(o, scores, attn_row_f32(&t->v, b, g, (size_t)seen.lo), t->v.stride[2], n,
                  problem->v_dim);
        row_scale(o, o, inverse, problem->v_dim);
    }
    if (problem->outputs & ATTN_OUTPUT_LSE)
        *attn_row_f32(&t->lse, b, h, i) = softmax_lse(m, l);
    if (problem->outputs & ATTN_OUTPUT_WEIGHTS)
        store_weights(attn_row_f32(&t->weights, b, h, i), seen, problem->kv_len, scores, inverse);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    const struct attn_problem *p = &plan->problem;
#pragma omp parallel num_threads(plan->threads)
    {
        float *scores = attn_thread_scratch(plan, omp_get_thread_num());
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
    .caps.dtypes = ATTN_BIT(ATTN_F32),
    .caps.masks = ATTN_MASKS_POSITIONAL,
    .caps.options = ATTN_OPTION_WINDOW,
    .caps.outputs = ATTN_OUTPUTS_ALL,
    .caps.forward = true,
    .caps.parallel = true,
    .caps.compute = ATTN_F32,
    .workspace_size = workspace_size,
    .execute = execute,
};
