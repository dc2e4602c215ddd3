/*
 * judged_layer: operands, a run, and the definition.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "judged_layer.h"

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

size_t layer_keys(const struct attn_self_attention *l)
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

/* ---- the definition -------------------------------------------------------------------------- */

/* Element (token, column) of x w + b. */
static double projected(const float *x, const float *w, const float *b, size_t from, size_t to,
                        size_t token, size_t column)
{
    double sum = b ? (double)b[column] : 0;
    for (size_t i = 0; i < from; i++)
        sum += (double)x[token * from + i] * (double)w[i * to + column];
    return sum;
}

/* What query i adds to the score of key j; -inf where it does not see it. */
static double added(const struct attn_self_attention *l,
                    const struct attn_self_attention_tensors *t, size_t b, size_t h, size_t i,
                    size_t j)
{
    const bool bias = l->mask & ATTN_MASK_BIAS, mask = l->mask & ATTN_MASK_BOOL;
    const ptrdiff_t at = (ptrdiff_t)i + (ptrdiff_t)layer_keys(l) - (ptrdiff_t)l->len;
    double x = bias ? (double)((const float *)attn_row(&t->bias, b, h, i))[j] : 0;
    if (l->options & ATTN_OPTION_ALIBI)
        x += (double)((const float *)t->slopes.data)[h] * ((double)j - (double)i);
    const bool hidden =
        (l->mask & ATTN_MASK_CAUSAL && (ptrdiff_t)j > at) ||
        (mask && !((const uint8_t *)attn_row(&t->mask, b, h, i))[j]) ||
        (l->options & ATTN_OPTION_WINDOW && (ptrdiff_t)j < (ptrdiff_t)i - l->window_left) ||
        (l->options & ATTN_OPTION_RAGGED && j >= (size_t)((const int32_t *)t->kv_lens.data)[b]);
    return hidden ? -INFINITY : x;
}

void layer_weights(const struct attn_self_attention *l, const struct attn_self_attention_tensors *t,
                   size_t b, size_t h, size_t i, double *p)
{
    const size_t to = l->heads * l->qk_dim;
    const double dim = (double)(l->scale_by_v_dim ? l->v_dim : l->qk_dim);
    const double scale = l->scale != 0 ? (double)l->scale : 1 / sqrt(dim);
    const float *y = l->context_len ? t->context : t->x;
    const size_t from = l->context_len ? l->context_d_in : l->d_in, keys = layer_keys(l);
    double sum = 0;
    if (l->options & ATTN_OPTION_SINKS)
        sum = exp((double)((const float *)t->sinks.data)[h]);
    for (size_t j = 0; j < keys; j++) {
        double x = 0;
        for (size_t d = 0; d < l->qk_dim; d++)
            x += projected(t->x, t->wq, t->bq, l->d_in, to, b * l->len + i, h * l->qk_dim + d) *
                 projected(y, t->wk, t->bk, from, to, b * keys + j, h * l->qk_dim + d);
        x *= scale;
        if (l->options & ATTN_OPTION_SOFTCAP)
            x = (double)l->softcap * tanh(x / (double)l->softcap);
        p[j] = exp(x + added(l, t, b, h, i, j));
        sum += p[j];
    }
    for (size_t j = 0; j < keys; j++)
        p[j] /= sum > 0 ? sum : 1;
}

/* Y before the output projection, token `i` of batch b. */
static void attended(const struct attn_self_attention *l,
                     const struct attn_self_attention_tensors *t, size_t b, size_t i, double *o)
{
    const float *y = l->context_len ? t->context : t->x;
    const size_t from = l->context_len ? l->context_d_in : l->d_in, keys = layer_keys(l);
    const size_t to = l->heads * l->v_dim;
    double p[16];
    for (size_t h = 0; h < l->heads; h++) {
        layer_weights(l, t, b, h, i, p);
        for (size_t d = 0; d < l->v_dim; d++) {
            o[h * l->v_dim + d] = 0;
            for (size_t j = 0; j < keys; j++)
                o[h * l->v_dim + d] +=
                    p[j] * projected(y, t->wv, t->bv, from, to, b * keys + j, h * l->v_dim + d);
        }
    }
}

void layer_judge(const struct attn_self_attention *l, const struct attn_self_attention_tensors *t)
{
    const size_t columns = l->heads * l->v_dim, wide = l->d_out ? l->d_out : columns;
    for (size_t row = 0; row < l->batch * l->len; row++) {
        double o[32] = {0};
        attended(l, t, row / l->len, row % l->len, o);
        for (size_t c = 0; c < wide; c++) {
            double expected = o[c];
            if (l->d_out) {
                expected = t->bo ? (double)t->bo[c] : 0;
                for (size_t i = 0; i < columns; i++)
                    expected += o[i] * (double)t->wo[i * l->d_out + c];
            }
            if (!(fabs((double)t->y[row * wide + c] - expected) <= 5e-5))
                fail_msg("y[%zu][%zu] = %.9g, expected %.9g", row, c, (double)t->y[row * wide + c],
                         expected);
        }
    }
}
