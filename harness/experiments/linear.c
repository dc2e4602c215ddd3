/*
 * linear: is a Linear layer the same as one of bare parameter matrices?
 *
 * They differ only in the order in which the weight is stored and in its initial values.
 */
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "experiment.h"
#include "experiments/shared/distribution.h"
#include "experiments/shared/layer_call.h"
#include "experiments/shared/mt19937.h"
#include "parts.h"
#include "results/report.h"

#define STREAM_EQUAL 14100

/* 4 matrices of d * d floats take 1 GiB. */
#define WIDEST 8192

static const char *const parts[] = {"equal", "init", NULL};
static const char *const inputs[] = {"normal", "uniform", NULL};

static const struct option parameters[] = {
    {"parts", "LIST", "equal,init", NULL, "which of the two parts", .kind = OPTION_WORDS,
     .words = parts},
    {"d", "LIST", "3,16,128,1024,4096", "3,16,128,512", "d_in and d_out", .kind = OPTION_COUNTS,
     .lo = 1, .hi = WIDEST},
    {"inputs", "LIST", "normal,uniform", NULL, "distributions of tokens", .kind = OPTION_WORDS,
     .words = inputs},
    {0},
};

/* Steps: a layer for every d and input, with both kinds of sums or both inits. */
static void plan(const json_t *asked, json_t *steps)
{
    static const char *const sums[] = {"rounded", "exact", NULL}, *const init[] = {"rand", "linear",
                                                                                   NULL};
    if (experiment_wants(asked, "equal"))
        experiment_steps(steps, experiment_pick(json_pack("{s:s}", "part", "equal"), asked, "seed"),
                         asked, "d=d input=inputs sums", sums);
    if (experiment_wants(asked, "init"))
        experiment_steps(steps, experiment_pick(json_pack("{s:s}", "part", "init"), asked, "seed"),
                         asked, "d=d input=inputs init", init);
}

/* ---- equal ----------------------------------------------------------------------------------- */

#define TOKENS 16
/* Multiply-adds up to which plain loops are compared, too: 2^24 take the slowest 0.14 s (Zen 4). */
#define MOST_BY_LOOPS ((size_t)1 << 24)

#define HEAD 64 /* head dimension if d is a multiple of it; other layers have one head */

/* A layer from d numbers to d, and the differences between its two versions. */
struct comparison {
    struct linear_shape shape;
    float *x, *w[3], *stored, *q, *y[LINEAR_LAYOUTS];
    double largest, over_bound, output; /* differences of Q, K and V; of the output */
    size_t equal, elements;             /* of Q, K and V */
    bool loops;                         /* plain loops gave equal bits */
};

/* Multiples of 1/8 below 4, so that a sum of up to 2^12 products of two is exact in float32. */
static void make_exact(float *x, size_t n, float factor)
{
    for (size_t i = 0; i < n; i++)
        x[i] = fmaxf(-31, fminf(31, rintf(8 * factor * x[i]))) / 8;
}

static bool open_layers(struct comparison *c, const json_t *s, struct experiment_work *work)
{
    const size_t d = experiment_count(s, "d"), n = TOKENS * d, seed = experiment_count(s, "seed");
    struct mt19937 generator;
    *c = (struct comparison){.shape = {TOKENS, d, d}, .loops = true};
    c->x = experiment_alloc(work, 4 * n + 4 * d * d, sizeof *c->x);
    if (!c->x)
        return false;
    c->q = c->x + n;
    c->y[0] = c->x + 2 * n;
    c->y[1] = c->x + 3 * n;
    c->stored = c->x + 4 * n;
    distribution_draw(distribution_find(member_text(s, "input")), c->x, n,
                      random_key(seed, STREAM_EQUAL), 0);
    mt19937_seed(&generator, (uint32_t)seed);
    for (size_t i = 0; i < 3; i++) {
        c->w[i] = c->stored + (i + 1) * d * d;
        mt19937_linear(&generator, d, d, c->w[i], NULL);
    }
    if (experiment_is(s, "sums", "exact")) {
        make_exact(c->x, n, 1);
        make_exact(c->w[0], 3 * d * d, sqrtf((float)d)); /* weights lie within 1/sqrt(d) */
    }
    return true;
}

/* Projection i: compares the version of bare parameters, `projected`, with a Linear's, which replaces it. */
static void compare(struct comparison *c, size_t i, float *projected)
{
    const struct linear_shape *s = &c->shape;
    linear_transpose(c->w[i], s->d_in, s->d_out, c->stored);
    linear_gemm(s, c->x, c->stored, LINEAR_LINEAR, c->q);
    for (size_t at = 0; at < s->len * s->d_out; at++) {
        const double d = fabs((double)projected[at] - (double)c->q[at]);
        c->elements++;
        c->equal += d == 0;
        c->largest = experiment_larger(c->largest, d);
        if (d > 0)
            c->over_bound = fmax(
                c->over_bound, d / linear_bound(s, c->x, c->stored, at / s->d_out, at % s->d_out));
    }
    memcpy(projected, c->q, s->len * s->d_out * sizeof *projected);
}

/* Sets c->loops: whether plain loops give the same bits for both layouts; overwrites outputs. */
static void compare_loops(struct comparison *c)
{
    static linear_product *const loops[] = {linear_dot, linear_axpy};
    const struct linear_shape *s = &c->shape;
    linear_transpose(c->w[0], s->d_in, s->d_out, c->stored);
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
        loops[i](s, c->x, c->w[0], LINEAR_PARAMETER, c->y[0]);
        loops[i](s, c->x, c->stored, LINEAR_LINEAR, c->y[1]);
        c->loops &= memcmp(c->y[0], c->y[1], s->len * s->d_out * sizeof **c->y) == 0;
    }
}

/* Computes and compares both versions of the layer. */
static bool compare_layers(struct comparison *c, struct experiment_work *work)
{
    const size_t d = c->shape.d_in, heads = d % HEAD ? 1 : d / HEAD;
    const struct attn_self_attention layer = layer_call_shape(TOKENS, d, heads, d / heads);
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
    for (size_t i = 0; i < TOKENS * d; i++)
        c->output = experiment_larger(c->output, fabs((double)c->y[0][i] - (double)c->y[1][i]));
    return true;
}

static bool compute_equal(const json_t *s, json_t *rows, struct experiment_work *work)
{
    struct comparison c;
    linear_one_thread();
    if (!open_layers(&c, s, work) || !compare_layers(&c, work))
        return false;
    const bool loops = TOKENS * c.shape.d_in * c.shape.d_out <= MOST_BY_LOOPS;
    if (loops)
        compare_loops(&c);
    json_t *values = experiment_values(
        (struct experiment_value[]){{"difference", c.largest},
                                    {"over_bound", c.over_bound},
                                    {"equal", (double)c.equal / (double)c.elements},
                                    {"output_difference", c.output},
                                    {0}});
    json_object_set_new(values, "loops_equal", loops ? json_boolean(c.loops) : json_null());
    experiment_add(rows, json_copy((json_t *)s), values);
    return true;
}

static bool compute(const json_t *s, json_t *rows, struct experiment_work *work)
{
    const bool equal = experiment_is(s, "part", "equal");
    return equal ? compute_equal(s, rows, work) : linear_init(s, rows, work);
}

/* ---- the report ------------------------------------------------------------------------------ */

/* Whether the two versions of a layer differ by no more than rounding explains. */
static bool is_right(const struct experiment_part *part, bool exact)
{
    const double difference = member_number(part->values, "difference");
    const double output = member_number(part->values, "output_difference");
    return isfinite(difference) && isfinite(output) &&
           (exact ? difference == 0 && output == 0
                  : member_number(part->values, "over_bound") <= 1);
}

static size_t count_wrong(const json_t *rows)
{
    struct experiment_part part = {.rows = rows, .where = "part=equal"};
    size_t wrong = 0;
    while (experiment_part_next(&part))
        wrong += !is_right(&part, experiment_is(part.params, "sums", "exact"));
    return wrong;
}

static bool say_equal(const json_t *rows)
{
    const size_t wrong = count_wrong(rows), exact = experiment_where(rows, "sums=exact");
    const size_t loops = experiment_where(rows, "loops_equal=true");
    const size_t compared = loops + experiment_where(rows, "loops_equal=false");
    const double worst = experiment_extent(rows, "part=equal", "over_bound").most;
    if (wrong)
        report_sentence("The two versions of %zu layers DIFFER by more than rounding explains.",
                        wrong);
    else if (exact && worst == 0)
        report_sentence("With the same weights both versions compute the same: not a bit differs "
                        "where sums are exact, nor where they are rounded.");
    else if (exact)
        report_sentence("With the same weights both versions compute the same: not a bit differs "
                        "where sums are exact; elsewhere Q, K and V differ by at most %.2g of what "
                        "two orders of summation can.",
                        worst);
    if (compared)
        report_sentence("Plain loops give equal bits in %zu of %zu layers.", loops, compared);
    return !wrong;
}

/* Prints how many keys are in use with each kind of initial weights: with a Linear's at least, with those in
 * [0, 1) at the largest d. */
static void say_init(const json_t *rows)
{
    struct experiment_part part = {.rows = rows, .where = "part=init init=rand"};
    const struct experiment_extent linear =
        experiment_extent(rows, "part=init init=linear", "effective_keys");
    double widest = 0, rand = NAN;
    while (experiment_part_next(&part)) {
        const double d = member_number(part.params, "d");
        const double keys = member_number(part.values, "effective_keys");
        rand = d > widest || (d == widest && keys > rand) ? keys : rand;
        widest = fmax(widest, d);
    }
    if (linear.rows && isfinite(rand))
        report_sentence("What the layers begin with does matter: weights in [0, 1) leave %.1f of "
                        "64 keys in use at d = %.0f, a Linear's %.1f or more at every d.",
                        rand, widest, linear.least);
}

bool linear_report(const json_t *rows)
{
    experiment_list(rows, "part=equal",
                    "d input sums difference over_bound equal output_difference loops_equal",
                    "a layer with the same weights in both layouts");
    experiment_list(rows, "part=init", "d input init q_squared spread effective_keys largest",
                    "64 tokens behind the weights that a layer begins with");
    const bool right = say_equal(rows);
    say_init(rows);
    return right;
}

const struct calculation calculation_linear = {
    .parameters = parameters,
    .plan = plan,
    .compute = compute,
    .report = linear_report,
};
