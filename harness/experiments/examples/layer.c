/*
 * layer: a seeded layer, from its seed to its outputs.
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
#include "experiments/shared/published.h"

#define MOST 64 /* elements of any matrix of an example */

/* An example as it is rebuilt. */
struct example {
    const char *name;
    json_t *published;
    size_t len, d_in, d_out;
    float x[MOST], w[3][MOST]; /* q, k, v */
};

static const char *const names[] = {"q", "k", "v"};

/* Weights in the order in which the notebook made them. */
static void draw_weights(struct example *e)
{
    struct mt19937 generator;
    const bool linear = strcmp(experiment_text(e->published, "init"), "linear") == 0;
    const json_t *name;
    size_t i;
    mt19937_seed(&generator, (uint32_t)experiment_number(e->published, "seed"));
    json_array_foreach (json_object_get(e->published, "order"), i, name)
        for (size_t n = 0; n < 3; n++) {
            if (strcmp(json_string_value(name), names[n]) != 0)
                continue;
            if (linear)
                mt19937_linear(&generator, e->d_in, e->d_out, e->w[n], NULL);
            else
                mt19937_uniform(&generator, e->w[n], e->d_in * e->d_out, 0, 1);
        }
}

static bool open_example(struct example *e, const json_t *s, struct experiment_work *work)
{
    *e = (struct example){.name = experiment_text(s, "example")};
    e->published = published_load(e->name, work->message, sizeof work->message);
    if (!e->published)
        return false;
    const json_t *x = json_object_get(e->published, "x");
    e->len = json_array_size(x);
    e->d_in = (size_t)experiment_number(e->published, "d_in");
    e->d_out = (size_t)experiment_number(e->published, "d_out");
    if (e->len * (e->d_in + e->d_out + e->len) + e->d_in * e->d_out > MOST) {
        snprintf(work->message, sizeof work->message, "%s is too large", e->name);
        json_decref(e->published);
        return false;
    }
    for (size_t i = 0; i < e->len; i++)
        for (size_t d = 0; d < e->d_in; d++)
            e->x[i * e->d_in + d] =
                (float)json_number_value(json_array_get(json_array_get(x, i), d));
    draw_weights(e);
    return true;
}

static void add(json_t *rows, const struct example *e, const char *quantity, const char *by,
                const double *x, size_t height, size_t width)
{
    json_array_append_new(rows, examples_row(e->name, quantity, by, x, height, width,
                                             json_object_get(e->published, quantity),
                                             EXAMPLES_FOUR_DECIMALS, 4));
}

static void add_floats(json_t *rows, const struct example *e, const char *quantity, const char *by,
                       const float *x, size_t height, size_t width)
{
    double copy[MOST];
    for (size_t i = 0; i < height * width; i++)
        copy[i] = (double)x[i];
    add(rows, e, quantity, by, copy, height, width);
}

/* Weights as PyTorch keeps those of nn.Linear, (out, in), or as they are. */
static void add_weights(json_t *rows, const struct example *e)
{
    for (size_t n = 0; n < 3; n++) {
        char quantity[32];
        const bool linear = strcmp(experiment_text(e->published, "init"), "linear") == 0;
        snprintf(quantity, sizeof quantity, "w_%s%s", names[n], linear ? "_transposed" : "");
        add_floats(rows, e, quantity, "definition", e->w[n], e->d_in, e->d_out);
    }
}

/* Scores, scaled scores, weights and output of the projected Q, K and V. */
static void add_attention(json_t *rows, const struct example *e, const float *q, const float *k,
                          const float *v)
{
    const struct weights_head head = {
        .q = q, .k = k, .rows = e->len, .keys = e->len, .dim = e->d_out, .stride = e->d_out};
    double scores[MOST], scaled[MOST], p[MOST], o[MOST] = {0};
    for (size_t i = 0; i < e->len; i++)
        for (size_t j = 0; j < e->len; j++) {
            double dot = 0;
            for (size_t d = 0; d < e->d_out; d++)
                dot += (double)q[i * e->d_out + d] * (double)k[j * e->d_out + d];
            scores[i * e->len + j] = dot;
            scaled[i * e->len + j] = dot / sqrt((double)e->d_out);
        }
    definition_weights(&head, p);
    for (size_t i = 0; i < e->len; i++)
        for (size_t j = 0; j < e->len; j++)
            for (size_t d = 0; d < e->d_out; d++)
                o[i * e->d_out + d] += p[i * e->len + j] * (double)v[j * e->d_out + d];
    add(rows, e, "scores", "definition", scores, e->len, e->len);
    add(rows, e, "scaled_scores", "definition", scaled, e->len, e->len);
    add(rows, e, "weights", "definition", p, e->len, e->len);
    add(rows, e, "output", "definition", o, e->len, e->d_out);
}

/* The layer with one kernel: its weights and outputs; with the first also all earlier steps. */
static bool add_kernel(json_t *rows, const struct example *e, const char *kernel, bool first,
                       struct experiment_work *work)
{
    const struct attn_self_attention layer = {.size = sizeof layer,
                                              .batch = 1,
                                              .len = e->len,
                                              .d_in = e->d_in,
                                              .heads = 1,
                                              .qk_dim = e->d_out,
                                              .v_dim = e->d_out};
    float y[MOST];
    double p[MOST];
    const struct attn_self_attention_tensors t = {
        .size = sizeof t, .x = e->x, .wq = e->w[0], .wk = e->w[1], .wv = e->w[2], .y = y};
    struct layer_call call;
    if (!layer_call_open(&call, &layer, kernel, work))
        return false;
    attn_self_attention_execute(&call.plan, &t);
    const float *const projected[] = {call.plan.q, call.plan.k, call.plan.v};
    for (size_t n = 0; first && n < 3; n++)
        add_floats(rows, e, names[n], "definition", projected[n], e->len, e->d_out);
    if (first)
        add_attention(rows, e, call.plan.q, call.plan.k, call.plan.v);
    const struct weights_head head = {.q = call.plan.q,
                                      .k = call.plan.k,
                                      .rows = e->len,
                                      .keys = e->len,
                                      .dim = e->d_out,
                                      .stride = e->d_out};
    const bool right = kernel_weights(kernel, &head, p, work);
    if (right) {
        if (json_object_get(e->published, "weights"))
            add(rows, e, "weights", kernel, p, e->len, e->len);
        add_floats(rows, e, "output", kernel, y, e->len, e->d_out);
    }
    layer_call_close(&call);
    return right;
}

bool examples_layer(const json_t *s, json_t *rows, struct experiment_work *work)
{
    struct example e;
    bool right = open_example(&e, s, work);
    if (!right)
        return false;
    add_weights(rows, &e);
    const char *const *kernels = kernel_call_names();
    for (size_t i = 0; right && kernels[i]; i++)
        right = add_kernel(rows, &e, kernels[i], i == 0, work);
    json_decref(e.published);
    return right;
}
