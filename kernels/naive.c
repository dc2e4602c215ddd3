/*
 * naive: the definition, three plain loops a row.
 *
 * Scores, softmax, weighted sum, one query at a time, in the order in which a textbook writes
 * them and in single precision throughout.  It is the yardstick of the others: of their speed,
 * and of the rounding error that float32 attention has when it is written plainly
 * (`attnbench check` compares RMS errors with it).
 *
 *   memory    reads K and V once per query row
 *   parallel  no (row_parallel is)
 *   scratch   one row of kv_len scores
 *   instead   tiled where K and V outgrow the cache, flash for speed
 */
#include <math.h>

#include "kernel.h"

static size_t workspace_size(const struct attn_problem *problem, int threads)
{
    (void)threads;
    return attn_floats_bytes(problem->kv_len);
}

static float dot(const float *a, const float *b, size_t n)
{
    float sum = 0;
    for (size_t d = 0; d < n; d++)
        sum += a[d] * b[d];
    return sum;
}

/* scores[0, n) become exp(score - maximum); returns their sum, and the maximum in *m.  Where every
 * score is -inf, as where there is none, the sum is 0 and so is the row. */
static float exponentials(float *scores, ptrdiff_t n, float *m)
{
    *m = -INFINITY;
    for (ptrdiff_t j = 0; j < n; j++)
        *m = scores[j] > *m ? scores[j] : *m;
    const float shift = *m == -INFINITY ? 0 : *m;
    float sum = 0;
    for (ptrdiff_t j = 0; j < n; j++) {
        scores[j] = expf(scores[j] - shift); /* NaN stays NaN, and makes the sum NaN */
        sum += scores[j];
    }
    return sum;
}

static void row(const struct attn_problem *problem, const struct attn_tensors *t, size_t b,
                size_t h, size_t i, float *scores)
{
    const struct attn_range seen = attn_visible(problem, (ptrdiff_t)i);
    const size_t g = attn_kv_head(problem, h);
    const float scale = attn_problem_scale(problem);
    const float *q = attn_row_f32(&t->q, b, h, i);

    for (ptrdiff_t j = seen.lo; j < seen.hi; j++)
        scores[j] = scale * dot(q, attn_row_f32(&t->k, b, g, (size_t)j), problem->qk_dim);

    float m;
    const float sum = exponentials(scores + seen.lo, seen.hi - seen.lo, &m);
    const float inverse = sum == 0 ? 0 : 1 / sum;

    if (problem->outputs & ATTN_OUTPUT_O) {
        float *o = attn_row_f32(&t->o, b, h, i);
        for (size_t d = 0; d < problem->v_dim; d++)
            o[d] = 0;
        for (ptrdiff_t j = seen.lo; j < seen.hi; j++) {
            const float *v = attn_row_f32(&t->v, b, g, (size_t)j);
            const float p = scores[j] * inverse;
            for (size_t d = 0; d < problem->v_dim; d++)
                o[d] += p * v[d];
        }
    }
    if (problem->outputs & ATTN_OUTPUT_LSE)
        *attn_row_f32(&t->lse, b, h, i) = m + logf(sum);
    if (problem->outputs & ATTN_OUTPUT_WEIGHTS) {
        float *weights = attn_row_f32(&t->weights, b, h, i);
        for (ptrdiff_t j = 0; j < (ptrdiff_t)problem->kv_len; j++)
            weights[j] = j >= seen.lo && j < seen.hi ? scores[j] * inverse : 0;
    }
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    const struct attn_problem *p = &plan->problem;
    for (size_t b = 0; b < p->batch; b++)
        for (size_t h = 0; h < p->q_heads; h++)
            for (size_t i = 0; i < p->q_len; i++)
                row(p, tensors, b, h, i, plan->workspace);
}

const struct attn_kernel ATTN_KERNEL = {
    .size = sizeof(struct attn_kernel),
    .name = "naive",
    .summary = "three plain loops a query row, serial",
    .source = "Vaswani et al. 2017, arXiv:1706.03762, equation 1",
    .isa = ATTN_KERNEL_ISA,
    .caps.size = sizeof(struct attn_caps),
    .caps.dtypes = ATTN_BIT(ATTN_F32),
    .caps.masks = ATTN_MASKS_POSITIONAL,
    .caps.options = ATTN_OPTION_WINDOW,
    .caps.outputs = ATTN_OUTPUTS_ALL,
    .caps.forward = true,
    .caps.compute = ATTN_F32,
    .workspace_size = workspace_size,
    .execute = execute,
};
