/*
 * equal: the whole layer with the same weights in both layouts.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/random.h"
#include "experiments/shared/dots.h"
#include "experiments/shared/layer_call.h"
#include "experiments/shared/mt19937.h"
#include "linear.h"

#define STREAM 14100
#define TOKENS 16
#define HEAD 64 /* of a layer whose width is a multiple of it; others have one head */

/* A layer of d numbers to d, and what its two versions differ by. */
struct comparison {
    struct linear_shape shape;
    float *x, *w[3], *stored, *q, *y[LINEAR_LAYOUTS]; /* one allocation, at x */
    double largest, over_bound, output;               /* differences of Q, K and V; of the output */
    size_t equal, elements;                           /* of Q, K and V */
    bool loops;                                       /* plain loops gave equal bits */
};

/* Multiples of 1/8 below 4, so that a sum of up to 2^12 products of two is exact in float32. */
static void make_exact(float *x, size_t n, float factor)
{
    for (size_t i = 0; i < n; i++)
        x[i] = fmaxf(-31, fminf(31, rintf(8 * factor * x[i]))) / 8;
}

static bool open_layers(struct comparison *c, size_t d, enum distribution input, bool exact,
                        uint64_t seed)
{
    struct mt19937 generator;
    const size_t n = TOKENS * d;
    *c = (struct comparison){.shape = {TOKENS, d, d}, .loops = true};
    c->x = malloc((4 * n + 4 * d * d) * sizeof *c->x);
    if (!c->x)
        return false;
    c->q = c->x + n;
    c->y[0] = c->x + 2 * n;
    c->y[1] = c->x + 3 * n;
    c->stored = c->x + 4 * n;
    distribution_draw(input, c->x, n, random_key(seed, STREAM), 0);
    mt19937_seed(&generator, (uint32_t)seed);
    for (size_t i = 0; i < 3; i++) {
        c->w[i] = c->stored + (i + 1) * d * d;
        mt19937_linear(&generator, d, d, c->w[i], NULL);
    }
    if (exact) {
        make_exact(c->x, n, 1);
        make_exact(c->w[0], 3 * d * d, sqrtf((float)d)); /* which lie within 1/sqrt(d) */
    }
    return true;
}

/* Projection `i` of the bare parameters, which becomes that of the other version. */
static void compare(struct comparison *c, size_t i, float *projected)
{
    const struct linear_shape *s = &c->shape;
    linear_transpose(c->w[i], s->d_in, s->d_out, c->stored);
    linear_ways[0].run(s, c->x, c->stored, LINEAR_LINEAR, c->q);
    for (size_t at = 0; at < s->len * s->d_out; at++) {
        const double d = fabs((double)projected[at] - (double)c->q[at]);
        c->elements++;
        c->equal += d == 0;
        c->largest = d <= c->largest ? c->largest : d; /* NaN stays */
        if (d > 0)
            c->over_bound = fmax(
                c->over_bound, d / linear_bound(s, c->x, c->stored, at / s->d_out, at % s->d_out));
    }
    memcpy(projected, c->q, s->len * s->d_out * sizeof *projected);
}

/* Whether a plain loop gives the same bits for both layouts; outputs are overwritten. */
static void compare_loops(struct comparison *c)
{
    const struct linear_shape *s = &c->shape;
    linear_transpose(c->w[0], s->d_in, s->d_out, c->stored);
    for (const struct linear_way *way = linear_ways; way->name; way++) {
        if (!way->loop)
            continue;
        way->run(s, c->x, c->w[0], LINEAR_PARAMETER, c->y[0]);
        way->run(s, c->x, c->stored, LINEAR_LINEAR, c->y[1]);
        c->loops &= memcmp(c->y[0], c->y[1], s->len * s->d_out * sizeof **c->y) == 0;
    }
}

/* Both versions of the layer. */
static bool compare_layers(struct comparison *c, struct experiment_work *work)
{
    const size_t d = c->shape.d_in, heads = d % HEAD ? 1 : d / HEAD;
    const struct attn_self_attention layer = {.size = sizeof layer,
                                              .batch = 1,
                                              .len = TOKENS,
                                              .d_in = d,
                                              .heads = heads,
                                              .qk_dim = d / heads,
                                              .v_dim = d / heads};
    struct attn_self_attention_tensors t = {
        .size = sizeof t, .x = c->x, .wq = c->w[0], .wk = c->w[1], .wv = c->w[2], .y = c->y[0]};
    struct layer_call call;
    if (!layer_call_open(&call, &layer, "flash", work))
        return false;
    attn_self_attention_execute(&call.plan, &t);
    compare(c, 0, call.plan.q);
    compare(c, 1, call.plan.k);
    compare(c, 2, call.plan.v);
    t.y = c->y[1];
    attn_self_attention_attend(&call.plan, &t);
    layer_call_close(&call);
    for (size_t i = 0; i < TOKENS * d; i++) {
        const double difference = fabs((double)c->y[0][i] - (double)c->y[1][i]);
        c->output = difference <= c->output ? c->output : difference;
    }
    return true;
}

json_t *linear_equal(const json_t *s, struct experiment_work *work)
{
    const bool exact = strcmp(experiment_text(s, "sums"), "exact") == 0;
    struct comparison c;
    json_t *rows = NULL;
    linear_one_thread();
    if (!open_layers(&c, (size_t)json_integer_value(json_object_get(s, "d")),
                     distribution_find(experiment_text(s, "input")), exact,
                     (uint64_t)json_integer_value(json_object_get(s, "seed")))) {
        snprintf(work->message, sizeof work->message, "out of memory");
        return NULL;
    }
    if (compare_layers(&c, work)) {
        const bool loops = linear_takes(&linear_ways[1], &c.shape);
        if (loops)
            compare_loops(&c);
        rows = json_pack(
            "[o]",
            experiment_row(json_copy((json_t *)s),
                           json_pack("{s:o, s:f, s:f, s:o, s:o}", "difference",
                                     number_json(c.largest), "over_bound", c.over_bound, "equal",
                                     (double)c.equal / (double)c.elements, "output_difference",
                                     number_json(c.output), "loops_equal",
                                     loops ? json_boolean(c.loops) : json_null())));
    }
    free(c.x);
    return rows;
}
