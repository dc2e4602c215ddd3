/*
 * tokens: drawn as their notebooks do.
 */
#include "tokens.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "experiments/shared/layer_call.h"
#include "experiments/shared/mt19937.h"
#include "base/random.h"

static size_t v_dim_of(const struct shape *s)
{
    return s->v_dim ? s->v_dim : s->d_out;
}

static void draw_mask(struct tokens *t)
{
    float *x = t->mask;
    for (size_t b = 0; b < t->batch; b++)
        for (size_t h = 0; h < t->heads; h++)
            for (size_t i = 0; i < t->len; i++)
                for (size_t j = 0; j < t->len; j++)
                    *x++ = j > i || j + 3 * b >= t->len || i - j > 2 + 3 * h ? -INFINITY : 0;
}

bool tokens_open(struct tokens *t, const struct shape *s)
{
    *t = (struct tokens){
        .batch = s->batch, .len = s->len, .heads = s->heads, .dim = s->d_out, .v_dim = v_dim_of(s)};
    const size_t n = t->batch * t->len * t->heads;
    t->q = calloc(n * (2 * (t->dim + t->v_dim) + t->len), sizeof *t->q);
    if (!t->q)
        return false;
    t->k = t->q + n * t->dim;
    t->v = t->k + n * t->dim;
    t->y = s->d_in ? t->v + n * t->v_dim : NULL;
    t->mask = t->v + 2 * n * t->v_dim;
    draw_mask(t);
    return true;
}

void tokens_close(struct tokens *t)
{
    free(t->q);
}

/* In float64, by the polar form of Box and Muller (1958). */
static double normal_at(uint64_t seed, size_t i)
{
    const double u = 1 - random_unit(random_key(seed, 7000), i);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * random_unit(random_key(seed, 7001), i));
}

double tokens_draw(struct tokens *t, bool normal, uint64_t seed)
{
    const size_t n = t->batch * t->len * (2 * t->dim + t->v_dim);
    double worst = 0;
    for (size_t i = 0; i < n; i++) {
        const double x =
            normal ? normal_at(seed, i) : 2 * random_unit(random_key(seed, 7000), i) - 1;
        t->q[i] = (float)x;
        worst = fmax(worst, fabs((double)t->q[i] / x - 1));
    }
    return worst;
}

unsigned tokens_mask(const struct shape *s)
{
    return s->causal ? ATTN_MASK_CAUSAL : s->added ? ATTN_MASK_BIAS : ATTN_MASK_NONE;
}

bool tokens_layer(struct tokens *t, const struct shape *s, bool normal, uint64_t seed,
                  const char *kernel, struct experiment_work *work)
{
    const struct attn_self_attention layer = {.size = sizeof layer,
                                              .batch = s->batch,
                                              .len = s->len,
                                              .d_in = s->d_in,
                                              .heads = t->heads,
                                              .qk_dim = t->dim,
                                              .v_dim = t->v_dim,
                                              .mask = tokens_mask(s),
                                              .scale_by_v_dim = s->scale_by_v_dim};
    const size_t qk = t->heads * t->dim, v = t->heads * t->v_dim, n = t->batch * t->len;
    const size_t dims[] = {qk, qk, v};
    const ptrdiff_t len = (ptrdiff_t)t->len, heads = (ptrdiff_t)t->heads;
    float x[MOST_INPUT], w[3][MOST_WEIGHTS], b[3][MOST_WEIGHTS] = {{0}};
    struct mt19937 generator;
    struct layer_call call;
    mt19937_seed(&generator, (uint32_t)seed);
    mt19937_uniform(&generator, x, n * s->d_in, 0, 1);
    if (normal)
        random_normal(x, n * s->d_in, random_key(seed, 7002), 0);
    for (size_t i = 0; i < 3; i++)
        mt19937_linear(&generator, s->d_in, dims[i], w[i], s->bias ? b[i] : NULL);
    struct attn_self_attention_tensors tensors = {
        .size = sizeof tensors, .x = x, .wq = w[0], .wk = w[1], .wv = w[2], .y = t->y};
    if (s->bias) {
        tensors.bq = b[0];
        tensors.bk = b[1];
        tensors.bv = b[2];
    }
    tensors.bias = (struct attn_tensor){t->mask, ATTN_F32, {heads * len * len, len * len, len, 1}};
    if (!layer_call_open(&call, &layer, kernel, work))
        return false;
    attn_self_attention_execute(&call.plan, &tensors);
    memcpy(t->q, call.plan.q, n * qk * sizeof *t->q);
    memcpy(t->k, call.plan.k, n * qk * sizeof *t->k);
    memcpy(t->v, call.plan.v, n * v * sizeof *t->v);
    layer_call_close(&call);
    return true;
}
