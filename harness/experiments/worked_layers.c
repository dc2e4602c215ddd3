/*
 * worked_layers: seeded layers, from seed to outputs, and a causal softmax from its printed scores, with the
 * kernel's mask and with the notebook's, a matrix of 0 and -inf added to the scores.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "experiments/shared/kernel_call.h"
#include "experiments/shared/layer_call.h"
#include "experiments/shared/definition.h"
#include "experiments/shared/kernel_weights.h"
#include "experiments/shared/mt19937.h"
#include "experiments/shared/softmax_facts.h"
#include "worked_examples.h"

/* Tolerance for numbers printed to 8 digits and computed from such numbers: each rounding is half a unit, and
 * a weight changes less than its logits do. */
#define EIGHT_DIGITS 1e-8

/* ---- a seeded layer -------------------------------------------------------------------------- */

#define MOST_ELEMENTS 64 /* of any matrix of a seeded layer */

/* An example to rebuild. */
struct seeded {
    const json_t *published;
    size_t len, d_in, d_out;
    bool linear;                                 /* weights by nn.Linear, else by torch.rand */
    float x[MOST_ELEMENTS], w[3][MOST_ELEMENTS]; /* q, k, v */
};

static const char *const names[] = {"q", "k", "v"};

/* Weights in the order in which the notebook made them. */
static void draw_weights(struct seeded *e)
{
    struct mt19937 generator;
    const json_t *name;
    size_t i;
    mt19937_seed(&generator, (uint32_t)member_number(e->published, "seed"));
    json_array_foreach (json_object_get(e->published, "order"), i, name)
        for (size_t n = 0; n < 3; n++) {
            if (strcmp(json_string_value(name), names[n]) != 0)
                continue;
            if (e->linear)
                mt19937_linear(&generator, e->d_in, e->d_out, e->w[n], NULL);
            else
                mt19937_uniform(&generator, e->w[n], e->d_in * e->d_out, 0, 1);
        }
}

static bool open_seeded(struct seeded *e, const json_t *published)
{
    const json_t *x = json_object_get(published, "x");
    *e = (struct seeded){.published = published,
                         .len = json_array_size(x),
                         .d_in = (size_t)member_number(published, "d_in"),
                         .d_out = (size_t)member_number(published, "d_out"),
                         .linear = experiment_is(published, "init", "linear")};
    if (e->len * (e->d_in + e->d_out + e->len) + e->d_in * e->d_out > MOST_ELEMENTS)
        return false;
    for (size_t i = 0; i < e->len * e->d_in; i++)
        e->x[i] =
            (float)json_number_value(json_array_get(json_array_get(x, i / e->d_in), i % e->d_in));
    draw_weights(e);
    return true;
}

static void add_four(const struct worked_rows *w, const struct seeded *e, const char *quantity,
                     const char *by, const double *x, size_t height, size_t width)
{
    worked_add(w, quantity, by, x, height, width, json_object_get(e->published, quantity),
               FOUR_DECIMALS, 4);
}

static void add_floats(const struct worked_rows *w, const struct seeded *e, const char *quantity,
                       const char *by, const float *x, size_t height, size_t width)
{
    double copy[MOST_ELEMENTS] = {0};
    for (size_t i = 0; i < height * width; i++)
        copy[i] = (double)x[i];
    add_four(w, e, quantity, by, copy, height, width);
}

/* Adds Q, K and V, scores, scaled scores, weights and output by the definition. */
static void add_definition(const struct worked_rows *w, const struct seeded *e,
                           const struct kernel_weights_head *head, const float *v)
{
    const float *const projected[] = {head->q, head->k, v};
    double scores[MOST_ELEMENTS] = {0}, scaled[MOST_ELEMENTS] = {0}, p[MOST_ELEMENTS],
           o[MOST_ELEMENTS];
    for (size_t n = 0; n < 3; n++)
        add_floats(w, e, names[n], "definition", projected[n], e->len, e->d_out);
    definition_scores(head, 1, scores);
    for (size_t i = 0; i < e->len * e->len; i++)
        scaled[i] = scores[i] / sqrt((double)e->d_out);
    definition_weights(head, p);
    definition_output(head, p, v, e->d_out, e->d_out, o);
    add_four(w, e, "scores", "definition", scores, e->len, e->len);
    add_four(w, e, "scaled_scores", "definition", scaled, e->len, e->len);
    add_four(w, e, "weights", "definition", p, e->len, e->len);
    add_four(w, e, "output", "definition", o, e->len, e->d_out);
}

/* Adds the layer's weights and outputs by one kernel; by the first also all earlier steps. */
static bool add_kernel(const struct worked_rows *w, const struct seeded *e, const char *kernel,
                       bool first)
{
    const struct attn_self_attention layer = layer_call_shape(e->len, e->d_in, 1, e->d_out);
    float y[MOST_ELEMENTS];
    double p[MOST_ELEMENTS];
    const struct attn_self_attention_tensors t = {
        .size = sizeof t, .x = e->x, .wq = e->w[0], .wk = e->w[1], .wv = e->w[2], .y = y};
    struct layer_call call;
    if (!layer_call_open(&call, &layer, kernel, w->work))
        return false;
    attn_self_attention_execute(&call.plan, &t);
    const struct kernel_weights_head head = {.q = call.plan.q,
                                             .k = call.plan.k,
                                             .rows = e->len,
                                             .keys = e->len,
                                             .dim = e->d_out,
                                             .stride = e->d_out};
    if (first)
        add_definition(w, e, &head, call.plan.v);
    const bool right = kernel_weights(kernel, &head, p, w->work);
    if (right && json_object_get(e->published, "weights"))
        add_four(w, e, "weights", kernel, p, e->len, e->len);
    if (right)
        add_floats(w, e, "output", kernel, y, e->len, e->d_out);
    layer_call_close(&call);
    return right;
}

bool worked_layer(const struct worked_rows *w, const json_t *published)
{
    struct seeded e;
    if (!open_seeded(&e, published))
        return experiment_fail(w->work, "%s is too large", w->example);
    for (size_t n = 0; n < 3; n++) { /* nn.Linear's as (out, in) */
        char quantity[32];
        snprintf(quantity, sizeof quantity, "w_%s%s", names[n], e.linear ? "_transposed" : "");
        add_floats(w, &e, quantity, "definition", e.w[n], e.d_in, e.d_out);
    }
    bool right = true;
    for (const char *const *names_of = kernel_call_names(), *const *k = names_of; right && *k; k++)
        right = add_kernel(w, &e, *k, k == names_of);
    return right;
}

/* ---- a printed causal softmax ---------------------------------------------------------------- */

#define MOST_ROWS 16

/* Reads scores (n, n), 0 for keys that a row does not see; returns n, 0 if there are too many. */
static size_t scores_of(const json_t *published, double x[MOST_ROWS * MOST_ROWS])
{
    const json_t *scores = json_object_get(published, "scaled_scores");
    const size_t n = json_array_size(scores) <= MOST_ROWS ? json_array_size(scores) : 0;
    for (size_t i = 0; i < n * n; i++)
        x[i] = json_number_value(json_array_get(json_array_get(scores, i / n), i % n));
    return n;
}

/* Weights from scores x: query i is unit vector i, so that dimension i of key j is the score. */
static bool causal_weights(const char *kernel, unsigned mask, const double *x, size_t n, double *p,
                           struct experiment_work *work)
{
    float q[MOST_ROWS * MOST_ROWS] = {0}, k[MOST_ROWS * MOST_ROWS], added[MOST_ROWS * MOST_ROWS];
    for (size_t i = 0; i < n; i++) {
        q[i * n + i] = 1;
        for (size_t j = 0; j < n; j++) {
            k[j * n + i] = (float)x[i * n + j];
            added[i * n + j] = j > i ? -INFINITY : 0;
        }
    }
    const struct kernel_weights_head head = {.q = q,
                                             .k = k,
                                             .rows = n,
                                             .keys = n,
                                             .dim = n,
                                             .stride = n,
                                             .scale = 1,
                                             .mask = mask,
                                             .added = added};
    return kernel_weights(kernel, &head, p, work);
}

/* The largest weight above the diagonal. */
static double above(const double *p, size_t n)
{
    double largest = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            largest = experiment_larger(largest, p[i * n + j]);
    return largest;
}

/* The printed weights by one kernel, with the causal mask and with masks as operands where it takes them. */
static bool causal_kernel(const struct worked_rows *w, const char *kernel, const double *x,
                          size_t n, const json_t *published)
{
    static const struct {
        unsigned mask;
        const char *property;
    } masks[] = {{ATTN_MASK_BIAS, "weights as printed, -inf added to the scores"},
                 {ATTN_MASK_BOOL, "weights as printed, by a boolean mask"}};
    double p[MOST_ROWS * MOST_ROWS];
    if (!causal_weights(kernel, ATTN_MASK_CAUSAL, x, n, p, w->work))
        return false;
    worked_add(w, "weights", kernel, p, n, n, published, FLOAT32, 8);
    worked_add_property(w, "weights above the diagonal are 0", kernel, above(p, n), 0);
    for (size_t m = 0; m < 2; m++) {
        if (!kernel_weights_takes(kernel, masks[m].mask))
            continue;
        if (!causal_weights(kernel, masks[m].mask, x, n, p, w->work))
            return false;
        worked_add_property(w, masks[m].property, kernel,
                            experiment_larger(worked_difference(p, n, n, published), above(p, n)),
                            FLOAT32);
    }
    return true;
}

bool worked_causal(const struct worked_rows *w, const json_t *published)
{
    const json_t *weights = json_object_get(published, "weights");
    double x[MOST_ROWS * MOST_ROWS] = {0}, p[MOST_ROWS * MOST_ROWS] = {0};
    const size_t n = scores_of(published, x);
    bool right = n > 0 || experiment_fail(w->work, "%s is too large", w->example);
    for (size_t i = 0; i < n; i++)
        softmax_facts(x + i * n, i + 1, p + i * n);
    if (right)
        worked_add(w, "weights", "definition", p, n, n, weights, EIGHT_DIGITS, 8);
    for (const char *const *kernel = kernel_call_names(); right && *kernel; kernel++)
        right = causal_kernel(w, *kernel, x, n, weights);
    return right;
}
