/*
 * plugin_sketch: a kernel from a shared object, built with attention.h and nothing else of this project.
 */
#include <math.h>

#include "attention.h"

/* One key at a time, by running maximum and sum (kernels/online.c). */
struct row {
    const float *q;
    float *o;
    float m, l;
};

static void start(struct row *row, const float *q, float *o, size_t v_dim)
{
    *row = (struct row){.q = q, .o = o, .m = -INFINITY};
    for (size_t d = 0; d < v_dim; d++)
        o[d] = 0;
}

static void see(struct row *row, const struct attn_problem *problem, const float *k, const float *v)
{
    float x = 0;
    for (size_t d = 0; d < problem->qk_dim; d++)
        x += row->q[d] * k[d];
    x *= attn_problem_scale(problem);
    const float m = x > row->m ? x : row->m, shrink = expf(row->m - m), p = expf(x - m);
    row->m = m;
    row->l = row->l * shrink + p;
    for (size_t d = 0; d < problem->v_dim; d++)
        row->o[d] = row->o[d] * shrink + p * v[d];
}

static void finish(struct row *row, size_t v_dim)
{
    for (size_t d = 0; d < v_dim; d++)
        row->o[d] = row->l > 0 ? row->o[d] / row->l : 0;
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *t)
{
    const struct attn_problem *p = &plan->problem;
    for (size_t b = 0; b < p->batch; b++)
        for (size_t h = 0; h < p->q_heads; h++)
            for (size_t i = 0; i < p->q_len; i++) {
                const struct attn_range seen = attn_visible(p, (ptrdiff_t)i);
                const size_t g = attn_kv_head(p, h);
                struct row row;
                start(&row, attn_row(&t->q, b, h, i), attn_row(&t->o, b, h, i), p->v_dim);
                for (size_t j = (size_t)seen.lo; j < (size_t)seen.hi; j++)
                    see(&row, p, attn_row(&t->k, b, g, j), attn_row(&t->v, b, g, j));
                finish(&row, p->v_dim);
            }
}

static const struct attn_kernel kernel = {
    .size = sizeof(struct attn_kernel),
    .name = "plugged",
    .summary = "from a shared object",
    .source = "this sketch",
    .isa = ATTN_ISA_BASELINE,
    .execute = execute,
    .caps.size = sizeof(struct attn_caps),
    .caps.dtypes = 1u << ATTN_F32,
    .caps.masks = ATTN_MASK_CAUSAL,
    .caps.outputs = ATTN_OUTPUT_O,
    .caps.forward = true,
    .caps.compute = ATTN_F32,
};

attn_plugin_entry attn_plugin; /* ATTN_PLUGIN_ENTRY */

const struct attn_kernel *const *attn_plugin(size_t *count)
{
    static const struct attn_kernel *const kernels[] = {&kernel};
    *count = sizeof kernels / sizeof *kernels;
    return kernels;
}
