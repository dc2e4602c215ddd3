/*
 * worked_shapes: notebooks without a seed, checked by properties that hold for any numbers.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "experiments/shared/kernel_call.h"
#include "experiments/shared/layer_call.h"
#include "experiments/shared/definition.h"
#include "experiments/shared/kernel_weights.h"
#include "experiments/shared/mt19937.h"
#include "worked_examples.h"

/* ---- tokens without a seed ------------------------------------------------------------------- */

/* Limits of all shapes. */
enum { MOST_LEN = 10, MOST_DIM = 512, MOST_INPUT = 2 * 10 * 64, MOST_WEIGHTS = 64 * 64 };

/* The shape of an example; d_in 0: q, k, v are given, there is no layer. */
struct shape {
    size_t batch, len, heads, d_in, d_out, v_dim;
    bool causal, bias, scale_by_v_dim;
    bool added; /* a mask of (batch, heads, len, len) is added to the scores */
};

/* False fills the message: the shape exceeds the limits. */
static bool shape_read(struct shape *s, const json_t *shape, struct experiment_work *work)
{
    *s = (struct shape){.batch = experiment_count(shape, "batch"),
                        .len = experiment_count(shape, "len"),
                        .heads = experiment_count(shape, "heads"),
                        .d_in = experiment_count(shape, "d_in"),
                        .d_out = experiment_count(shape, "d_out"),
                        .causal = json_is_true(json_object_get(shape, "causal")),
                        .bias = json_is_true(json_object_get(shape, "bias")),
                        .scale_by_v_dim = json_is_true(json_object_get(shape, "scale_by_v_dim")),
                        .added = json_is_true(json_object_get(shape, "added"))};
    s->v_dim = json_object_get(shape, "v_dim") ? experiment_count(shape, "v_dim") : s->d_out;
    const size_t dim = s->d_out > s->v_dim ? s->d_out : s->v_dim;
    return (s->len <= MOST_LEN && dim <= MOST_DIM && s->batch * s->len * s->d_in <= MOST_INPUT &&
            s->d_in * s->heads * dim <= MOST_WEIGHTS) ||
           experiment_fail(work, "%s is too large", member_text(shape, "name"));
}

/* q, k and v as (batch, len, heads, dim); y is the layer's output. */
struct tokens {
    float *q, *k, *v, *y, *mask; /* one allocation, at q; mask (batch, heads, len, len) */
};

/* Draws a mask of 0 and -inf for each sequence and head.  No query sees later keys, nor the last 3 of the
 * second sequence, which are padding; heads look back 2, 5, 8 and 11 tokens.  The last query of head 0 in
 * the second sequence sees nothing. */
static void draw_mask(const struct shape *s, float *x)
{
    for (size_t b = 0; b < s->batch; b++)
        for (size_t h = 0; h < s->heads; h++)
            for (size_t i = 0; i < s->len; i++)
                for (size_t j = 0; j < s->len; j++)
                    *x++ = j > i || j + 3 * b >= s->len || i - j > 2 + 3 * h ? -INFINITY : 0;
}

/* Allocates zeros for queries, keys, values and outputs, and draws the mask. */
static bool tokens_open(struct tokens *t, const struct shape *s, struct experiment_work *work)
{
    const size_t n = s->batch * s->len * s->heads;
    t->q = experiment_alloc(work, n * (2 * (s->d_out + s->v_dim) + s->len), sizeof *t->q);
    if (!t->q)
        return false;
    t->k = t->q + n * s->d_out;
    t->v = t->k + n * s->d_out;
    t->y = s->d_in ? t->v + n * s->v_dim : NULL;
    t->mask = t->v + 2 * n * s->v_dim;
    draw_mask(s, t->mask);
    return true;
}

/* Draw i of N(0, 1) in float64 (Box and Muller 1958, polar form). */
static double normal_at(uint64_t seed, size_t i)
{
    const double u = 1 - random_unit(random_key(seed, 7000), i);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * random_unit(random_key(seed, 7001), i));
}

/* Draws q, k and v in float64, as NumPy does, from N(0, 1) or uniformly in [-1, 1), and rounds them; returns
 * the largest relative rounding error. */
static double tokens_draw(const struct shape *s, struct tokens *t, bool normal, uint64_t seed)
{
    const size_t n = s->batch * s->len * (2 * s->d_out + s->v_dim);
    double worst = 0;
    for (size_t i = 0; i < n; i++) {
        const double x =
            normal ? normal_at(seed, i) : 2 * random_unit(random_key(seed, 7000), i) - 1;
        t->q[i] = (float)x;
        worst = fmax(worst, fabs((double)t->q[i] / x - 1));
    }
    return worst;
}

static unsigned tokens_mask(const struct shape *s)
{
    return s->causal ? ATTN_MASK_CAUSAL : s->added ? ATTN_MASK_BIAS : ATTN_MASK_NONE;
}

/* Computes q, k, v and y by a layer with random weights and x from N(0, 1) or uniform in [0, 1). */
static bool tokens_layer(struct tokens *t, const struct shape *s, bool normal, uint64_t seed,
                         const char *kernel, struct experiment_work *work)
{
    struct attn_self_attention layer = layer_call_shape(s->len, s->d_in, s->heads, s->d_out);
    layer.batch = s->batch;
    layer.v_dim = s->v_dim;
    layer.mask = tokens_mask(s);
    layer.scale_by_v_dim = s->scale_by_v_dim;
    const size_t qk = s->heads * s->d_out, v = s->heads * s->v_dim, n = s->batch * s->len;
    const size_t dims[] = {qk, qk, v};
    const ptrdiff_t len = (ptrdiff_t)s->len, heads = (ptrdiff_t)s->heads;
    float x[MOST_INPUT], w[3][MOST_WEIGHTS], b[3][MOST_WEIGHTS] = {{0}};
    struct mt19937 generator;
    struct layer_call call;
    mt19937_seed(&generator, (uint32_t)seed);
    mt19937_uniform(&generator, x, n * s->d_in, 0, 1);
    if (normal)
        random_normal(x, n * s->d_in, random_key(seed, 7002), 0);
    for (size_t i = 0; i < 3; i++)
        mt19937_linear(&generator, s->d_in, dims[i], w[i], s->bias ? b[i] : NULL);
    struct attn_self_attention_tensors tensors = {.size = sizeof tensors,
                                                  .x = x,
                                                  .wq = w[0],
                                                  .wk = w[1],
                                                  .wv = w[2],
                                                  .bq = s->bias ? b[0] : NULL,
                                                  .bk = s->bias ? b[1] : NULL,
                                                  .bv = s->bias ? b[2] : NULL,
                                                  .y = t->y};
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

/* ---- properties ------------------------------------------------------------------------------ */

/* The largest deviation from each property, over sequences and heads. */
struct worst {
    double sums, masked, empty, first, output, rounding;
};

/* Properties of a head's weights p; `exact` are those in float64. */
static void judge_weights(const struct shape *s, const double *p, const double *exact,
                          struct worst *worst)
{
    for (size_t i = 0; i < s->len; i++) {
        double sum = 0, expected = 0;
        for (size_t j = 0; j < s->len; j++) {
            const size_t at = i * s->len + j;
            sum += p[at];
            expected += exact[at];
            if (exact[at] == 0)
                worst->masked = experiment_larger(worst->masked, fabs(p[at]));
        }
        if (expected > 0)
            worst->sums = experiment_larger(worst->sums, fabs(sum - 1));
        else
            worst->empty = experiment_larger(worst->empty, sum);
    }
}

/* Compares outputs with those of the float64 weights p, and the first row with the first value. */
static void judge_output(const struct shape *s, const struct kernel_weights_head *head,
                         const double *p, const float *v, const double *o, struct worst *worst)
{
    double exact[MOST_LEN * MOST_DIM];
    definition_output(head, p, v, s->heads * s->v_dim, s->v_dim, exact);
    for (size_t i = 0; i < s->len * s->v_dim; i++)
        worst->output = experiment_larger(worst->output, fabs(o[i] - exact[i]));
    for (size_t d = 0; (s->causal || s->added) && d < s->v_dim; d++)
        worst->first = experiment_larger(worst->first, fabs(o[d] - (double)v[d]));
}

static struct kernel_weights_head head_of(const struct shape *s, const struct tokens *t, size_t b,
                                          size_t h)
{
    const size_t at = b * s->len * s->heads * s->d_out + h * s->d_out;
    return (struct kernel_weights_head){
        .q = t->q + at,
        .k = t->k + at,
        .rows = s->len,
        .keys = s->len,
        .dim = s->d_out,
        .stride = s->heads * s->d_out,
        .scale = s->scale_by_v_dim ? (float)(1 / sqrt((double)s->v_dim)) : 0,
        .mask = tokens_mask(s),
        .added = s->added ? t->mask + (b * s->heads + h) * s->len * s->len : NULL,
    };
}

static bool judge_head(const struct shape *s, const struct tokens *t, size_t b, size_t h,
                       const char *kernel, struct worst *worst, struct experiment_work *work)
{
    double p[MOST_LEN * MOST_LEN], exact[MOST_LEN * MOST_LEN], o[MOST_LEN * MOST_DIM] = {0};
    const struct kernel_weights_head head = head_of(s, t, b, h);
    const size_t row = s->heads * s->v_dim, at = b * s->len * row + h * s->v_dim;
    if (!kernel_weights(kernel, &head, p, work) ||
        (!t->y && !kernel_weights_values(kernel, &head, t->v + at, s->v_dim, o, work)))
        return false;
    for (size_t i = 0; t->y && i < s->len; i++)
        for (size_t d = 0; d < s->v_dim; d++)
            o[i * s->v_dim + d] = (double)t->y[at + i * row + d];
    definition_weights(&head, exact);
    judge_weights(s, p, exact, worst);
    judge_output(s, &head, exact, t->v + at, o, worst);
    return true;
}

static void add_properties(const struct worked_rows *w, const struct shape *s, const char *kernel,
                           const struct worst *worst)
{
    const struct {
        const char *property;
        double worst, tolerance;
        bool applies; /* to this shape */
    } properties[] = {
        {"rows of weights sum to 1", worst->sums, FLOAT32, true},
        {"weights above the diagonal are 0", worst->masked, 0, s->causal},
        {"weights of masked keys are 0", worst->masked, 0, s->added},
        {"rows without a key are 0", worst->empty, 0, s->added},
        {"first row is the first value", worst->first, 0, s->causal || s->added},
        {"output is that of float64 weights", worst->output, FOUR_DECIMALS, true},
        {"float64 inputs rounded to float32", worst->rounding, 0x1p-24, !s->d_in},
    };
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++)
        if (properties[i].applies)
            worked_add_property(w, properties[i].property, kernel, properties[i].worst,
                                properties[i].tolerance);
}

/* One kernel on all sequences and heads; with the first also the weights of a masked head by the definition,
 * as the notebook prints them. */
static bool shape_kernel(const struct worked_rows *w, const json_t *step, const struct shape *s,
                         struct tokens *t, const char *kernel, bool first)
{
    const bool normal = experiment_is(step, "input", "normal");
    const size_t seed = experiment_count(step, "seed");
    struct worst worst = {0};
    double p[MOST_LEN * MOST_LEN];
    bool right = true;
    if (s->d_in)
        right = tokens_layer(t, s, normal, seed, kernel, w->work);
    else
        worst.rounding = tokens_draw(s, t, normal, seed);
    if (right && s->added && first) {
        const struct kernel_weights_head head = head_of(s, t, 1, 0);
        definition_weights(&head, p);
        worked_add(w, "weights of sequence 1, head 0", "definition", p, s->len, s->len, NULL, 0, 4);
    }
    for (size_t n = 0; right && n < s->batch * s->heads; n++)
        right = judge_head(s, t, n / s->heads, n % s->heads, kernel, &worst, w->work);
    if (right)
        add_properties(w, s, kernel, &worst);
    return right;
}

/* Each kernel on an example; its rows are also named after the distribution of inputs. */
bool worked_shape(struct worked_rows w, const json_t *shape, const json_t *step)
{
    char example[96];
    struct shape s;
    struct tokens t;
    bool first = true, right = shape_read(&s, shape, w.work) && tokens_open(&t, &s, w.work);
    snprintf(example, sizeof example, "%.60s, %.20s inputs", w.example, member_text(step, "input"));
    w.example = example;
    for (const char *const *kernel = kernel_call_names(); right && *kernel; kernel++) {
        if (!kernel_weights_takes(*kernel, tokens_mask(&s)))
            continue;
        right = shape_kernel(&w, step, &s, &t, *kernel, first);
        first = false;
    }
    return right;
}
