/*
 * worked_examples: public notebooks on self-attention, rebuilt and compared digit by digit.
 *
 * Seeded layers, from their seed to their outputs; a printed causal softmax from its printed scores, with
 * the kernel's mask and with the notebook's, a matrix of 0 and -inf added to the scores; and notebooks
 * without a seed, checked by properties that hold for any numbers.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/random.h"
#include "experiment.h"
#include "experiments/shared/kernel_call.h"
#include "experiments/shared/kernel_weights.h"
#include "experiments/shared/layer_call.h"
#include "experiments/shared/listing.h"
#include "experiments/shared/mt19937.h"
#include "experiments/shared/published.h"
#include "experiments/shared/softmax_facts.h"
#include "list.h"
#include "results/report_experiment.h"

/* The file says: printed to 4 decimals, so that a match is within 6e-5. */
#define FOUR_DECIMALS 6e-5

/* Numbers printed to 8 digits, computed from others printed to 8: each rounding is half a unit, and
 * a weight changes by less than its logits do. */
#define EIGHT_DIGITS 1e-8

/* What a float32 kernel may differ by from weights of at most 1: 8 roundings of the exponential, as
 * in the bound of every check. */
#define FLOAT32 (8 * 0x1p-24)

static const struct option parameters[] = {{0}};

/* What draws the inputs of notebooks without a seed: some use one, some the other. */
static const char *const inputs[] = {"uniform", "normal", NULL};

/* The rows of a step, as they are made. */
struct writer {
    const char *example;
    json_t *rows;
    struct experiment_work *work;
};

/* ---- rows ------------------------------------------------------------------------------------ */

static json_t *matrix(const double *x, size_t rows, size_t columns)
{
    json_t *all = json_array();
    for (size_t i = 0; i < rows; i++)
        json_array_append_new(all, experiment_numbers(x + i * columns, columns));
    return all;
}

/* The largest difference from what was published, whose rows may be shorter: what follows is 0. */
static double difference(const double *x, size_t rows, size_t columns, const json_t *published)
{
    double worst = json_array_size(published) == rows ? 0 : INFINITY;
    for (size_t i = 0; i < rows; i++) {
        const json_t *row = json_array_get(published, i);
        for (size_t j = 0; j < columns; j++) {
            const json_t *value = json_array_get(row, j);
            const double expected = value ? json_number_value(value) : 0;
            const double d = fabs(x[i * columns + j] - expected);
            worst = d <= worst ? worst : d; /* NaN stays */
        }
    }
    return worst;
}

/* A row of a quantity (height, width), "by" its definition or a kernel, beside what was published, NULL where
 * nothing was.  `decimals` is for printing. */
static void add(const struct writer *w, const char *quantity, const char *by, const double *x,
                size_t height, size_t width, const json_t *published, double tolerance,
                int decimals)
{
    json_t *values = json_pack("{s:o, s:O?, s:i}", "computed", matrix(x, height, width),
                               "published", published, "decimals", decimals);
    if (published) {
        const double worst = difference(x, height, width, published);
        json_object_set_new(values, "difference", number_json(worst));
        json_object_set_new(values, "tolerance", json_real(tolerance));
        json_object_set_new(values, "ok", json_boolean(worst <= tolerance));
    }
    experiment_add(
        w->rows,
        json_pack("{s:s, s:s, s:s}", "example", w->example, "quantity", quantity, "by", by),
        values);
}

/* A row of a property: ok where `worst` is at most `tolerance`. */
static void add_property(const struct writer *w, const char *property, const char *by, double worst,
                         double tolerance)
{
    experiment_add(
        w->rows,
        json_pack("{s:s, s:s, s:s}", "example", w->example, "property", property, "by", by),
        json_pack("{s:o, s:f, s:b}", "difference", number_json(worst), "tolerance", tolerance, "ok",
                  (int)(worst <= tolerance)));
}

static double larger(double worst, double x)
{
    return x <= worst ? worst : x; /* NaN stays */
}

/* ---- a seeded layer -------------------------------------------------------------------------- */

#define MOST_ELEMENTS 64 /* of any matrix of a seeded layer */

/* An example as it is rebuilt. */
struct seeded {
    const json_t *published;
    size_t len, d_in, d_out;
    bool linear;                                 /* weights of nn.Linear, else of torch.rand */
    float x[MOST_ELEMENTS], w[3][MOST_ELEMENTS]; /* q, k, v */
};

static const char *const names[] = {"q", "k", "v"};

/* Weights in the order in which the notebook made them. */
static void draw_weights(struct seeded *e)
{
    struct mt19937 generator;
    const json_t *name;
    size_t i;
    mt19937_seed(&generator, (uint32_t)experiment_number(e->published, "seed"));
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
                         .d_in = (size_t)experiment_number(published, "d_in"),
                         .d_out = (size_t)experiment_number(published, "d_out"),
                         .linear = experiment_is(published, "init", "linear")};
    if (e->len * (e->d_in + e->d_out + e->len) + e->d_in * e->d_out > MOST_ELEMENTS)
        return false;
    for (size_t i = 0; i < e->len * e->d_in; i++)
        e->x[i] =
            (float)json_number_value(json_array_get(json_array_get(x, i / e->d_in), i % e->d_in));
    draw_weights(e);
    return true;
}

static void add_four(const struct writer *w, const struct seeded *e, const char *quantity,
                     const char *by, const double *x, size_t height, size_t width)
{
    add(w, quantity, by, x, height, width, json_object_get(e->published, quantity), FOUR_DECIMALS,
        4);
}

static void add_floats(const struct writer *w, const struct seeded *e, const char *quantity,
                       const char *by, const float *x, size_t height, size_t width)
{
    double copy[MOST_ELEMENTS] = {0};
    for (size_t i = 0; i < height * width; i++)
        copy[i] = (double)x[i];
    add_four(w, e, quantity, by, copy, height, width);
}

/* Q, K and V, scores, scaled scores, weights and output. */
static void add_definition(const struct writer *w, const struct seeded *e,
                           const struct weights_head *head, const float *v)
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

/* The layer with one kernel: its weights and outputs; with the first also all earlier steps. */
static bool add_kernel(const struct writer *w, const struct seeded *e, const char *kernel,
                       bool first)
{
    const struct attn_self_attention layer = layer_shape(e->len, e->d_in, 1, e->d_out);
    float y[MOST_ELEMENTS];
    double p[MOST_ELEMENTS];
    const struct attn_self_attention_tensors t = {
        .size = sizeof t, .x = e->x, .wq = e->w[0], .wk = e->w[1], .wv = e->w[2], .y = y};
    struct layer_call call;
    if (!layer_call_open(&call, &layer, kernel, w->work))
        return false;
    attn_self_attention_execute(&call.plan, &t);
    const struct weights_head head = {.q = call.plan.q,
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

static bool compute_layer(const struct writer *w, const json_t *published)
{
    struct seeded e;
    if (!open_seeded(&e, published))
        return experiment_fail(w->work, "%s is too large", w->example);
    for (size_t n = 0; n < 3;
         n++) { /* as PyTorch keeps those of nn.Linear, (out, in), or as they are */
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

/* Scores (n, n): a row has those of the keys that it sees, then 0; NULL if there are too many. */
static size_t scores_of(const json_t *published, double x[MOST_ROWS * MOST_ROWS])
{
    const json_t *scores = json_object_get(published, "scaled_scores");
    const size_t n = json_array_size(scores) <= MOST_ROWS ? json_array_size(scores) : 0;
    for (size_t i = 0; i < n * n; i++)
        x[i] = json_number_value(json_array_get(json_array_get(scores, i / n), i % n));
    return n;
}

/* Query i is unit vector i, so that dimension i of key j is the score. */
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
    const struct weights_head head = {.q = q,
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
            largest = p[i * n + j] <= largest ? largest : p[i * n + j];
    return largest;
}

/* The printed weights by one kernel, and by masks that are operands where it takes them. */
static bool causal_kernel(const struct writer *w, const char *kernel, const double *x, size_t n,
                          const json_t *published)
{
    static const struct {
        unsigned mask;
        const char *property;
    } masks[] = {{ATTN_MASK_BIAS, "weights as printed, -inf added to the scores"},
                 {ATTN_MASK_BOOL, "weights as printed, by a boolean mask"}};
    double p[MOST_ROWS * MOST_ROWS];
    if (!causal_weights(kernel, ATTN_MASK_CAUSAL, x, n, p, w->work))
        return false;
    add(w, "weights", kernel, p, n, n, published, FLOAT32, 8);
    add_property(w, "weights above the diagonal are 0", kernel, above(p, n), 0);
    for (size_t m = 0; m < 2; m++) {
        if (!kernel_weights_takes(kernel, masks[m].mask))
            continue;
        if (!causal_weights(kernel, masks[m].mask, x, n, p, w->work))
            return false;
        add_property(w, masks[m].property, kernel,
                     larger(difference(p, n, n, published), above(p, n)), FLOAT32);
    }
    return true;
}

static bool compute_causal(const struct writer *w, const json_t *published)
{
    const json_t *weights = json_object_get(published, "weights");
    double x[MOST_ROWS * MOST_ROWS] = {0}, p[MOST_ROWS * MOST_ROWS] = {0};
    const size_t n = scores_of(published, x);
    bool right = n > 0 || experiment_fail(w->work, "%s is too large", w->example);
    for (size_t i = 0; i < n; i++)
        softmax_facts(x + i * n, i + 1, p + i * n);
    if (right)
        add(w, "weights", "definition", p, n, n, weights, EIGHT_DIGITS, 8);
    for (const char *const *kernel = kernel_call_names(); right && *kernel; kernel++)
        right = causal_kernel(w, *kernel, x, n, weights);
    return right;
}

/* ---- tokens without a seed ------------------------------------------------------------------- */

/* The most that any shape has. */
enum { MOST_LEN = 10, MOST_DIM = 512, MOST_INPUT = 2 * 10 * 64, MOST_WEIGHTS = 64 * 64 };

/* An example; d_in of 0: attention of given q, k, v without a layer. */
struct shape {
    const char *name;
    size_t batch, len, heads, d_in, d_out;
    bool causal, bias, scale_by_v_dim;
    bool added;   /* a mask of (batch, heads, len, len) is added to the scores */
    size_t v_dim; /* 0: d_out */
};

/* "shapes_also_shown" of the file, and attention with a mask of (B, H, S, S) that is added to the scores. */
static const struct shape shapes[] = {
    {.name = "attention (10, 512), causal",
     .batch = 1,
     .len = 10,
     .heads = 1,
     .d_out = 512,
     .causal = true},
    {.name = "attention (1, 4, 8)", .batch = 1, .len = 4, .heads = 1, .d_out = 8},
    {.name = "layer (2, 10, 64)", .batch = 2, .len = 10, .heads = 1, .d_in = 64, .d_out = 64},
    {.name = "layer of six tokens, 3 to 3, biases",
     .batch = 1,
     .len = 6,
     .heads = 1,
     .d_in = 3,
     .d_out = 3,
     .bias = true},
    {.name = "layer of six tokens, 3 to 2, causal",
     .batch = 1,
     .len = 6,
     .heads = 1,
     .d_in = 3,
     .d_out = 2,
     .causal = true,
     .bias = true},
    {.name = "layer scaled by sqrt(d_v), 3 to 2 and 4",
     .batch = 1,
     .len = 6,
     .heads = 1,
     .d_in = 3,
     .d_out = 2,
     .bias = true,
     .scale_by_v_dim = true,
     .v_dim = 4},
    {.name = "layer (2, 10, 64), 4 heads, added mask (2, 4, 10, 10)",
     .batch = 2,
     .len = 10,
     .heads = 4,
     .d_in = 64,
     .d_out = 16,
     .added = true},
};
#define SHAPES (sizeof shapes / sizeof *shapes)

/* One sequence after another: (batch, len, heads, dim), and the layer's output where there is a layer. */
struct tokens {
    size_t batch, len, heads, dim, v_dim;
    float *q, *k, *v, *y, *mask; /* one allocation, at q; mask (batch, heads, len, len) */
};

/* 0 and -inf, another matrix for each sequence and head.  No query sees later keys, nor the last 3 of the
 * second sequence, which are padding; heads look back 2, 5, 8 and 11 tokens.  The last query of head 0 in
 * the second sequence sees nothing. */
static void draw_mask(struct tokens *t)
{
    float *x = t->mask;
    for (size_t b = 0; b < t->batch; b++)
        for (size_t h = 0; h < t->heads; h++)
            for (size_t i = 0; i < t->len; i++)
                for (size_t j = 0; j < t->len; j++)
                    *x++ = j > i || j + 3 * b >= t->len || i - j > 2 + 3 * h ? -INFINITY : 0;
}

/* Queries, keys, values and outputs are zero; the mask is drawn. */
static bool tokens_open(struct tokens *t, const struct shape *s, struct experiment_work *work)
{
    *t = (struct tokens){.batch = s->batch,
                         .len = s->len,
                         .heads = s->heads,
                         .dim = s->d_out,
                         .v_dim = s->v_dim ? s->v_dim : s->d_out};
    const size_t n = t->batch * t->len * t->heads;
    t->q = experiment_alloc(work, n * (2 * (t->dim + t->v_dim) + t->len), sizeof *t->q);
    if (!t->q)
        return false;
    t->k = t->q + n * t->dim;
    t->v = t->k + n * t->dim;
    t->y = s->d_in ? t->v + n * t->v_dim : NULL;
    t->mask = t->v + 2 * n * t->v_dim;
    draw_mask(t);
    return true;
}

/* In float64, by the polar form of Box and Muller (1958). */
static double normal_at(uint64_t seed, size_t i)
{
    const double u = 1 - random_unit(random_key(seed, 7000), i);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * random_unit(random_key(seed, 7001), i));
}

/* q, k and v as NumPy has them, in float64, rounded: N(0, 1), or uniform in [-1, 1); returns the largest
 * relative rounding. */
static double tokens_draw(struct tokens *t, bool normal, uint64_t seed)
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

static unsigned tokens_mask(const struct shape *s)
{
    return s->causal ? ATTN_MASK_CAUSAL : s->added ? ATTN_MASK_BIAS : ATTN_MASK_NONE;
}

/* q, k, v and y of a layer with random weights, whose x is N(0, 1), or uniform in [0, 1). */
static bool tokens_layer(struct tokens *t, const struct shape *s, bool normal, uint64_t seed,
                         const char *kernel, struct experiment_work *work)
{
    struct attn_self_attention layer = layer_shape(s->len, s->d_in, t->heads, t->dim);
    layer.batch = s->batch;
    layer.v_dim = t->v_dim;
    layer.mask = tokens_mask(s);
    layer.scale_by_v_dim = s->scale_by_v_dim;
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

/* ---- their properties ------------------------------------------------------------------------ */

/* The worst of each property, over the sequences and heads. */
struct worst {
    double sums, masked, empty, first, output, rounding;
};

/* Properties of a head's weights, beside those in float64. */
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
                worst->masked = larger(worst->masked, fabs(p[at]));
        }
        if (expected > 0)
            worst->sums = larger(worst->sums, fabs(sum - 1));
        else
            worst->empty = larger(worst->empty, sum);
    }
}

/* Outputs against those of the float64 weights `p`, and the first row against the first value. */
static void judge_output(const struct shape *s, const struct weights_head *head,
                         const struct tokens *t, const double *p, const float *v, const double *o,
                         struct worst *worst)
{
    double exact[MOST_LEN * MOST_DIM];
    definition_output(head, p, v, s->heads * t->v_dim, t->v_dim, exact);
    for (size_t i = 0; i < s->len * t->v_dim; i++)
        worst->output = larger(worst->output, fabs(o[i] - exact[i]));
    for (size_t d = 0; (s->causal || s->added) && d < t->v_dim; d++)
        worst->first = larger(worst->first, fabs(o[d] - (double)v[d]));
}

static struct weights_head head_of(const struct shape *s, const struct tokens *t, size_t b,
                                   size_t h)
{
    const size_t at = b * t->len * t->heads * t->dim + h * t->dim;
    return (struct weights_head){
        .q = t->q + at,
        .k = t->k + at,
        .rows = t->len,
        .keys = t->len,
        .dim = t->dim,
        .stride = t->heads * t->dim,
        .scale = s->scale_by_v_dim ? (float)(1 / sqrt((double)t->v_dim)) : 0,
        .mask = tokens_mask(s),
        .added = s->added ? t->mask + (b * t->heads + h) * t->len * t->len : NULL,
    };
}

static bool judge_head(const struct shape *s, const struct tokens *t, size_t b, size_t h,
                       const char *kernel, struct worst *worst, struct experiment_work *work)
{
    double p[MOST_LEN * MOST_LEN], exact[MOST_LEN * MOST_LEN], o[MOST_LEN * MOST_DIM] = {0};
    const struct weights_head head = head_of(s, t, b, h);
    const size_t row = t->heads * t->v_dim, at = b * t->len * row + h * t->v_dim;
    if (!kernel_weights(kernel, &head, p, work) ||
        (!t->y && !kernel_values(kernel, &head, t->v + at, t->v_dim, o, work)))
        return false;
    for (size_t i = 0; t->y && i < t->len; i++)
        for (size_t d = 0; d < t->v_dim; d++)
            o[i * t->v_dim + d] = (double)t->y[at + i * row + d];
    definition_weights(&head, exact);
    judge_weights(s, p, exact, worst);
    judge_output(s, &head, t, exact, t->v + at, o, worst);
    return true;
}

static void add_properties(const struct writer *w, const struct shape *s, const char *kernel,
                           const struct worst *worst)
{
    const struct {
        const char *property;
        double worst, tolerance;
        bool holds; /* for this shape */
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
        if (properties[i].holds)
            add_property(w, properties[i].property, kernel, properties[i].worst,
                         properties[i].tolerance);
}

/* One kernel on all sequences and heads; the first also gives the weights of a masked head, by the
 * definition, as the notebook prints them. */
static bool shape_kernel(const struct writer *w, const json_t *step, const struct shape *s,
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
        worst.rounding = tokens_draw(t, normal, seed);
    if (right && s->added && first) {
        const struct weights_head head = head_of(s, t, 1, 0);
        definition_weights(&head, p);
        add(w, "weights of sequence 1, head 0", "definition", p, t->len, t->len, NULL, 0, 4);
    }
    for (size_t n = 0; right && n < s->batch * s->heads; n++)
        right = judge_head(s, t, n / s->heads, n % s->heads, kernel, &worst, w->work);
    if (right)
        add_properties(w, s, kernel, &worst);
    return right;
}

/* Each kernel on an example, whose rows are named after its inputs, too. */
static bool compute_shapes(struct writer w, const json_t *step)
{
    char example[96];
    const struct shape *s = shapes;
    struct tokens t;
    while (s < shapes + SHAPES && strcmp(s->name, w.example) != 0)
        s++;
    bool first = true, right = s < shapes + SHAPES && tokens_open(&t, s, w.work);
    snprintf(example, sizeof example, "%.60s, %.20s inputs", w.example,
             experiment_text(step, "input"));
    w.example = example;
    for (const char *const *kernel = kernel_call_names(); right && *kernel; kernel++) {
        if (!kernel_weights_takes(*kernel, tokens_mask(s)))
            continue;
        right = shape_kernel(&w, step, s, &t, *kernel, first);
        first = false;
    }
    return right;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void plan(const json_t *asked, json_t *steps)
{
    const json_t *seed = json_object_get(asked, "seed");
    const char *name;
    json_t *example, *file = published_load(NULL, NULL);
    json_object_foreach (file, name, example) {
        const bool layer = json_object_get(example, "init");
        if (layer || json_object_get(example, "scaled_scores"))
            json_array_append_new(steps,
                                  json_pack("{s:s, s:s, s:O}", "kind", layer ? "layer" : "causal",
                                            "example", name, "seed", seed));
    }
    for (size_t i = 0; i < SHAPES; i++)
        experiment_steps(
            steps,
            json_pack("{s:s, s:s, s:O}", "kind", "shapes", "example", shapes[i].name, "seed", seed),
            (struct experiment_axis[]){{"input", NULL, inputs}, {0}});
    json_decref(file);
}

static bool compute(const json_t *s, json_t *rows, struct experiment_work *work)
{
    struct writer w = {experiment_text(s, "example"), rows, work};
    if (experiment_is(s, "kind", "shapes"))
        return compute_shapes(w, s);
    json_t *published = published_load(w.example, work);
    const bool layer = experiment_is(s, "kind", "layer");
    const bool right =
        published && (layer ? compute_layer(&w, published) : compute_causal(&w, published));
    json_decref(published);
    return right;
}

/* ---- the report ------------------------------------------------------------------------------ */

static bool report(const json_t *rows)
{
    struct experiment_part row = {.rows = rows};
    size_t compared = 0, properties = 0;
    const size_t wrong = experiment_where(rows, "ok=false");
    while (experiment_part_next(&row)) {
        const bool property = json_object_get(row.params, "property");
        compared += !property && json_object_get(row.values, "ok");
        properties += property;
    }
    listing_print(rows, "ok=true by=definition", "example quantity difference tolerance ok",
                  "what notebooks print, beside the definition in float64");
    listing_print(rows, "ok=false", "example quantity property by difference tolerance ok",
                  "what differs");
    report_sentence("%s of %zu tables that the notebooks print and of %zu properties of examples "
                    "without a seed matches.",
                    wrong ? "Not every one" : "Every one", compared, properties);
    if (wrong)
        report_sentence("%zu DIFFER.", wrong);
    return !wrong;
}

const struct calculation calculation_worked_examples = {
    .parameters = parameters,
    .ready = published_ready,
    .plan = plan,
    .compute = compute,
    .report = report,
};
