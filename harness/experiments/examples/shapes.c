/*
 * shapes: notebooks without a seed, checked by properties that hold for any numbers.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples.h"
#include "experiments/shared/kernel_call.h"
#include "experiments/shared/kernel_weights.h"
#include "experiments/shared/layer_call.h"
#include "experiments/shared/mt19937.h"
#include "base/random.h"

/* Of any shape below. */
enum { MOST_LEN = 10, MOST_DIM = 512, MOST_INPUT = 2 * 10 * 64, MOST_WEIGHTS = 64 * 64 };

/* "shapes_also_shown" of the file; dims of 0: attention of given q, k, v without a layer. */
static const struct shape {
    const char *name;
    size_t batch, len, d_in, d_out;
    bool causal, bias, scale_by_v_dim;
    size_t v_dim; /* 0: d_out */
} shapes[] = {
    {"attention (10, 512), causal", 1, 10, 0, 512, true, false, false, 0},
    {"attention (1, 4, 8)", 1, 4, 0, 8, false, false, false, 0},
    {"layer (2, 10, 64)", 2, 10, 64, 64, false, false, false, 0},
    {"layer of six tokens, 3 to 3, biases", 1, 6, 3, 3, false, true, false, 0},
    {"layer of six tokens, 3 to 2, causal", 1, 6, 3, 2, true, true, false, 0},
    {"layer scaled by sqrt(d_v), 3 to 2 and 4", 1, 6, 3, 2, false, true, true, 4},
};
#define SHAPES (sizeof shapes / sizeof *shapes)

const char *examples_shape_name(size_t index)
{
    return index < SHAPES ? shapes[index].name : NULL;
}

/* One sequence after another: (batch, len, dim), and the layer's output where there is a layer. */
struct tokens {
    size_t batch, len, dim, v_dim;
    float *q, *k, *v, *y; /* one allocation, at q */
};

/* The worst of each property, over the sequences. */
struct worst {
    double sums, above, first, output, rounding;
};

static size_t v_dim_of(const struct shape *s)
{
    return s->v_dim ? s->v_dim : s->d_out;
}

static bool tokens_open(struct tokens *t, const struct shape *s)
{
    *t = (struct tokens){.batch = s->batch, .len = s->len, .dim = s->d_out, .v_dim = v_dim_of(s)};
    const size_t n = t->batch * t->len;
    t->q = calloc(n * 2 * (t->dim + t->v_dim), sizeof *t->q);
    if (!t->q)
        return false;
    t->k = t->q + n * t->dim;
    t->v = t->k + n * t->dim;
    t->y = s->d_in ? t->v + n * t->v_dim : NULL;
    return true;
}

/* q, k and v as NumPy has them, in float64, rounded; the largest relative rounding. */
static double draw(struct tokens *t, uint64_t seed)
{
    const size_t n = t->batch * t->len * (2 * t->dim + t->v_dim);
    double worst = 0;
    for (size_t i = 0; i < n; i++) {
        const double x = 2 * random_unit(random_key(seed, 7000), i) - 1;
        t->q[i] = (float)x;
        worst = fmax(worst, fabs((double)t->q[i] / x - 1));
    }
    return worst;
}

/* q, k, v and y of a layer with random weights. */
static bool run_layer(struct tokens *t, const struct shape *s, uint64_t seed, const char *kernel,
                      struct experiment_work *work)
{
    const struct attn_self_attention layer = {.size = sizeof layer,
                                              .batch = s->batch,
                                              .len = s->len,
                                              .d_in = s->d_in,
                                              .heads = 1,
                                              .qk_dim = t->dim,
                                              .v_dim = t->v_dim,
                                              .mask = s->causal ? ATTN_MASK_CAUSAL : 0,
                                              .scale_by_v_dim = s->scale_by_v_dim};
    const size_t dims[] = {t->dim, t->dim, t->v_dim}, n = t->batch * t->len;
    float x[MOST_INPUT], w[3][MOST_WEIGHTS], b[3][MOST_WEIGHTS] = {{0}};
    struct mt19937 generator;
    struct layer_call call;
    mt19937_seed(&generator, (uint32_t)seed);
    mt19937_uniform(&generator, x, n * s->d_in, 0, 1);
    for (size_t i = 0; i < 3; i++)
        mt19937_linear(&generator, s->d_in, dims[i], w[i], s->bias ? b[i] : NULL);
    struct attn_self_attention_tensors tensors = {
        .size = sizeof tensors, .x = x, .wq = w[0], .wk = w[1], .wv = w[2], .y = t->y};
    if (s->bias) {
        tensors.bq = b[0];
        tensors.bk = b[1];
        tensors.bv = b[2];
    }
    if (!layer_call_open(&call, &layer, kernel, work->threads, work->message, sizeof work->message))
        return false;
    attn_self_attention_execute(&call.plan, &tensors);
    memcpy(t->q, call.plan.q, n * t->dim * sizeof *t->q);
    memcpy(t->k, call.plan.k, n * t->dim * sizeof *t->k);
    memcpy(t->v, call.plan.v, n * t->v_dim * sizeof *t->v);
    layer_call_close(&call);
    return true;
}

static double larger(double worst, double x)
{
    return x <= worst ? worst : x; /* NaN stays */
}

/* Properties of a sequence's weights. */
static void judge_weights(const struct shape *s, const double *p, struct worst *worst)
{
    for (size_t i = 0; i < s->len; i++) {
        double sum = 0;
        for (size_t j = 0; j < s->len; j++) {
            sum += p[i * s->len + j];
            if (s->causal && j > i)
                worst->above = larger(worst->above, fabs(p[i * s->len + j]));
        }
        worst->sums = larger(worst->sums, fabs(sum - 1));
    }
}

/* Outputs against the float64 weights `p`, and the first row against the first value. */
static void judge_output(const struct shape *s, const double *p, const float *v, const double *o,
                         struct worst *worst)
{
    const size_t dim = v_dim_of(s);
    for (size_t d = 0; d < dim; d++) {
        for (size_t i = 0; i < s->len; i++) {
            double expected = 0;
            for (size_t j = 0; j < s->len; j++)
                expected += p[i * s->len + j] * (double)v[j * dim + d];
            worst->output = larger(worst->output, fabs(o[i * dim + d] - expected));
        }
        if (s->causal)
            worst->first = larger(worst->first, fabs(o[d] - (double)v[d]));
    }
}

static bool judge_sequence(const struct shape *s, const struct tokens *t, size_t b,
                           const char *kernel, struct worst *worst, struct experiment_work *work)
{
    double p[MOST_LEN * MOST_LEN], exact[MOST_LEN * MOST_LEN], o[MOST_LEN * MOST_DIM];
    const float *v = t->v + b * t->len * t->v_dim;
    const struct weights_head head = {
        .q = t->q + b * t->len * t->dim,
        .k = t->k + b * t->len * t->dim,
        .rows = t->len,
        .keys = t->len,
        .dim = t->dim,
        .stride = t->dim,
        .scale = s->scale_by_v_dim ? (float)(1 / sqrt((double)t->v_dim)) : 0,
        .mask = s->causal ? ATTN_MASK_CAUSAL : 0,
    };
    if (!kernel_weights(kernel, &head, p, work) ||
        (!t->y && !kernel_values(kernel, &head, v, t->v_dim, o, work)))
        return false;
    for (size_t i = 0; t->y && i < t->len * t->v_dim; i++)
        o[i] = (double)t->y[b * t->len * t->v_dim + i];
    definition_weights(&head, exact);
    judge_weights(s, p, worst);
    judge_output(s, exact, v, o, worst);
    return true;
}

static void add(json_t *rows, const struct shape *s, const char *kernel, const struct worst *worst)
{
    const struct {
        const char *property;
        double worst, tolerance;
        bool holds; /* for this shape */
    } properties[] = {
        {"rows of weights sum to 1", worst->sums, EXAMPLES_FLOAT32, true},
        {"weights above the diagonal are 0", worst->above, 0, s->causal},
        {"first row is the first value", worst->first, 0, s->causal},
        {"output is that of float64 weights", worst->output, EXAMPLES_FOUR_DECIMALS, true},
        {"float64 inputs rounded to float32", worst->rounding, 0x1p-24, !s->d_in},
    };
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++)
        if (properties[i].holds)
            json_array_append_new(rows,
                                  examples_property(s->name, properties[i].property, kernel,
                                                    properties[i].worst, properties[i].tolerance));
}

bool examples_shapes(const json_t *step, json_t *rows, struct experiment_work *work)
{
    const uint64_t seed = (uint64_t)json_integer_value(json_object_get(step, "seed"));
    const char *const *kernels = kernel_call_names();
    const struct shape *s = shapes;
    while (s < shapes + SHAPES && strcmp(s->name, experiment_text(step, "example")) != 0)
        s++;
    struct tokens t;
    bool right = s < shapes + SHAPES && tokens_open(&t, s);
    if (!right)
        return false;
    for (size_t i = 0; right && kernels[i]; i++) {
        struct worst worst = {0};
        if (s->d_in)
            right = run_layer(&t, s, seed, kernels[i], work);
        else
            worst.rounding = draw(&t, seed);
        for (size_t b = 0; right && b < s->batch; b++)
            right = judge_sequence(s, &t, b, kernels[i], &worst, work);
        if (right)
            add(rows, s, kernels[i], &worst);
    }
    free(t.q);
    return right;
}
