/*
 * shapes: notebooks without a seed, checked by properties that hold for any numbers.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "examples.h"
#include "experiments/shared/kernel_call.h"
#include "experiments/shared/kernel_weights.h"
#include "tokens.h"

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

const char *examples_shape_name(size_t index)
{
    return index < SHAPES ? shapes[index].name : NULL;
}

/* The worst of each property, over the sequences and heads. */
struct worst {
    double sums, masked, empty, first, output, rounding;
};

static double larger(double worst, double x)
{
    return x <= worst ? worst : x; /* NaN stays */
}

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

/* Outputs against the float64 weights `p`, and the first row against the first value. */
static void judge_output(const struct shape *s, const struct tokens *t, const double *p,
                         const float *v, const double *o, struct worst *worst)
{
    const size_t dim = t->v_dim;
    for (size_t d = 0; d < dim; d++) {
        for (size_t i = 0; i < s->len; i++) {
            double expected = 0;
            for (size_t j = 0; j < s->len; j++)
                expected += p[i * s->len + j] * (double)v[j * s->heads * dim + d];
            worst->output = larger(worst->output, fabs(o[i * dim + d] - expected));
        }
        if (s->causal || s->added)
            worst->first = larger(worst->first, fabs(o[d] - (double)v[d]));
    }
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
    judge_output(s, t, exact, t->v + at, o, worst);
    return true;
}

static void add(json_t *rows, const struct shape *s, const char *example, const char *kernel,
                const struct worst *worst)
{
    const struct {
        const char *property;
        double worst, tolerance;
        bool holds; /* for this shape */
    } properties[] = {
        {"rows of weights sum to 1", worst->sums, EXAMPLES_FLOAT32, true},
        {"weights above the diagonal are 0", worst->masked, 0, s->causal},
        {"weights of masked keys are 0", worst->masked, 0, s->added},
        {"rows without a key are 0", worst->empty, 0, s->added},
        {"first row is the first value", worst->first, 0, s->causal || s->added},
        {"output is that of float64 weights", worst->output, EXAMPLES_FOUR_DECIMALS, true},
        {"float64 inputs rounded to float32", worst->rounding, 0x1p-24, !s->d_in},
    };
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++)
        if (properties[i].holds)
            json_array_append_new(rows,
                                  examples_property(example, properties[i].property, kernel,
                                                    properties[i].worst, properties[i].tolerance));
}

/* The masked layer as the notebook prints it: a head's weights, by the definition. */
static void print_masked(json_t *rows, const char *example, const struct shape *s,
                         const struct tokens *t)
{
    double p[MOST_LEN * MOST_LEN];
    const struct weights_head head = head_of(s, t, 1, 0);
    definition_weights(&head, p);
    json_array_append_new(rows, examples_row(example, "weights of sequence 1, head 0", "definition",
                                             p, t->len, t->len, NULL, 0, 4));
}

bool examples_shapes(const json_t *step, json_t *rows, struct experiment_work *work)
{
    const uint64_t seed = (uint64_t)json_integer_value(json_object_get(step, "seed"));
    const char *const *kernels = kernel_call_names();
    const char *input = experiment_text(step, "input");
    const bool normal = strcmp(input, "normal") == 0;
    char example[96];
    const struct shape *s = shapes;
    while (s < shapes + SHAPES && strcmp(s->name, experiment_text(step, "example")) != 0)
        s++;
    struct tokens t;
    bool right = s < shapes + SHAPES && tokens_open(&t, s);
    if (!right)
        return false;
    snprintf(example, sizeof example, "%s, %s inputs", s->name, input);
    bool first = true;
    for (size_t i = 0; right && kernels[i]; i++) {
        struct worst worst = {0};
        if (!kernel_weights_takes(kernels[i], tokens_mask(s)))
            continue;
        if (s->d_in)
            right = tokens_layer(&t, s, normal, seed, kernels[i], work);
        else
            worst.rounding = tokens_draw(&t, normal, seed);
        if (right && s->added && first)
            print_masked(rows, example, s, &t);
        first = false;
        for (size_t n = 0; right && n < s->batch * s->heads; n++)
            right = judge_head(s, &t, n / s->heads, n % s->heads, kernels[i], &worst, work);
        if (right)
            add(rows, s, example, kernels[i], &worst);
    }
    tokens_close(&t);
    return right;
}
