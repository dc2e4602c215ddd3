/*
 * judged_layer: operands, a run, and the judge of its attention.
 */
#include "testing.h"

#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "judged_layer.h"
#include "reference.h"
#include "tested.h"

const struct attn_self_attention layer_small = {
    .size = sizeof layer_small,
    .batch = 2,
    .len = 9,
    .d_in = 7,
    .heads = 3,
    .qk_dim = 5,
    .v_dim = 4,
    .d_out = 6,
    .mask = ATTN_MASK_CAUSAL,
};

static size_t layer_keys(const struct attn_self_attention *l)
{
    return l->context_len ? l->context_len : l->len;
}

struct layer_operands layer_operands(const struct attn_self_attention *l)
{
    const size_t qk = l->heads * l->qk_dim, v = l->heads * l->v_dim, tokens = l->batch * l->len;
    const size_t keys = layer_keys(l), from = l->context_len ? l->context_d_in : l->d_in;
    const size_t context = l->batch * l->context_len * l->context_d_in;
    const size_t sizes[] = {tokens * l->d_in, l->d_in * qk, from * qk, from * v, qk, qk, v,
                            v * l->d_out,     l->d_out,     context};
    struct layer_operands o = {.t = {.size = sizeof o.t}};
    const float **const places[] = {&o.t.x,  &o.t.wq, &o.t.wk, &o.t.wv, &o.t.bq,
                                    &o.t.bk, &o.t.bv, &o.t.wo, &o.t.bo, &o.t.context};
    size_t total = 0, at = 0;
    for (size_t i = 0; i < 10; i++)
        total += sizes[i];
    const size_t y = tokens * (l->d_out ? l->d_out : v);
    const size_t weights = l->batch * l->heads * l->len * keys;
    o.all = malloc((total + y + weights) * sizeof *o.all);
    assert_non_null(o.all);
    random_normal(o.all, total + y + weights, 5, 0);
    for (size_t i = 0; i < 10; at += sizes[i++])
        *places[i] = o.all + at;
    o.t.y = o.all + total;
    o.t.weights = o.t.y + y;
    return o;
}

void layer_run(const struct attn_self_attention *l, const char *name, int threads,
               const struct attn_self_attention_tensors *t)
{
    struct attn_self_attention_plan plan;
    const char *why;
    const struct attn_kernel *kernel = attn_find(name, ATTN_ISA_BASELINE);
    const size_t bytes = attn_self_attention_workspace(l, kernel, threads);
    void *workspace = aligned_alloc(ATTN_WORKSPACE_ALIGN, bytes);
    if (!attn_self_attention_init(&plan, l, kernel, threads, workspace, bytes, &why))
        fail_msg("%s: %s", name, why);
    attn_self_attention_execute(&plan, t);
    attn_self_attention_destroy(&plan);
    free(workspace);
}

/* ---- the judge ------------------------------------------------------------------------------- */

/* Element (token, column) of x w + b. */
static double projected(const float *x, const float *w, const float *b, size_t from, size_t to,
                        size_t token, size_t column)
{
    double sum = b ? (double)b[column] : 0;
    for (size_t i = 0; i < from; i++)
        sum += (double)x[token * from + i] * (double)w[i * to + column];
    return sum;
}

/* Fills (batch, heads, len, dim) with the projections of tokens of `from` numbers. */
static void project(const struct attn_tensor *to, const struct attn_self_attention *l, size_t len,
                    size_t dim, const float *x, size_t from, const float *w, const float *bias)
{
    for (size_t b = 0; b < l->batch; b++)
        for (size_t h = 0; h < l->heads; h++)
            for (size_t i = 0; i < len; i++)
                for (size_t d = 0; d < dim; d++)
                    tensors_set(
                        to, b, h, i, d,
                        projected(x, w, bias, from, l->heads * dim, b * len + i, h * dim + d));
}

/* The attention inside, as the comments of self_attention.h have it, with Q, K and V of the reference. */
static struct operands inside(const struct attn_self_attention *l,
                              const struct attn_self_attention_tensors *t)
{
    const float *y = l->context_len ? t->context : t->x;
    const size_t from = l->context_len ? l->context_d_in : l->d_in, keys = layer_keys(l);
    struct attn_problem p;
    attn_problem_init(&p);
    p.batch = l->batch;
    p.q_heads = p.kv_heads = l->heads;
    p.q_len = l->len;
    p.kv_len = keys;
    p.qk_dim = l->qk_dim;
    p.v_dim = l->v_dim;
    p.mask = l->mask;
    p.options = l->options;
    p.softcap = l->softcap;
    if (l->options & ATTN_OPTION_WINDOW) {
        p.window_left = l->window_left;
        p.window_right = l->window_right;
    }
    p.scale = l->scale_by_v_dim ? (float)(1 / sqrt((double)l->v_dim)) : l->scale;
    struct operands in = operands_open(&p, 0);
    struct attn_tensors *s = &in.set.tensors;
    project(&s->q, l, l->len, l->qk_dim, t->x, l->d_in, t->wq, t->bq);
    project(&s->k, l, keys, l->qk_dim, y, from, t->wk, t->bk);
    project(&s->v, l, keys, l->v_dim, y, from, t->wv, t->bv);
    s->bias = t->bias;
    s->mask = t->mask;
    s->sinks = t->sinks;
    s->slopes = t->slopes;
    s->kv_lens = t->kv_lens;
    return in;
}

static void judge_weights(const float *got, const double *expected, size_t keys)
{
    for (size_t j = 0; j < keys; j++)
        if (!(fabs((double)got[j] - expected[j]) <= (expected[j] > 0 ? 1e-5 : 0)))
            fail_msg("weight %zu is %.9g, expected %.9g", j, (double)got[j], expected[j]);
}

void layer_judge(const struct attn_self_attention *l, const struct attn_self_attention_tensors *t)
{
    const size_t columns = l->heads * l->v_dim, wide = l->d_out ? l->d_out : columns;
    const size_t keys = layer_keys(l);
    struct operands in = inside(l, t);
    void *workspace = malloc(attn_reference_workspace(&in.problem));
    assert_non_null(workspace);
    for (size_t row = 0; row < l->batch * l->len; row++) {
        const size_t b = row / l->len, i = row % l->len;
        double o[32] = {0}, p[16];
        for (size_t h = 0; h < l->heads; h++) {
            struct attn_reference_row of = {.size = sizeof of, .o = o + h * l->v_dim, .weights = p};
            attn_reference(&in.problem, &in.set.tensors, b, h, i, ATTN_F32, 0, workspace, &of);
            if (l->weights)
                judge_weights(t->weights + ((b * l->heads + h) * l->len + i) * keys, p, keys);
        }
        for (size_t c = 0; c < wide; c++) {
            double expected = o[c];
            if (l->d_out) {
                expected = t->bo ? (double)t->bo[c] : 0;
                for (size_t k = 0; k < columns; k++)
                    expected += o[k] * (double)t->wo[k * l->d_out + c];
            }
            if (!(fabs((double)t->y[row * wide + c] - expected) <= 5e-5))
                fail_msg("y[%zu][%zu] = %.9g, expected %.9g", row, c, (double)t->y[row * wide + c],
                         expected);
        }
    }
    free(workspace);
    operands_close(&in);
}
