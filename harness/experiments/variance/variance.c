/*
 * variance: why 1/sqrt(d).
 *
 * Four parts: the published experiment repeated, the same over all d with many trials, the logits
 * of a transformer's heads, and those that the kernels themselves see.  The inner product at each
 * d is that of a trial's first d dimensions, so that a sweep costs as much as its largest d; each
 * d has a million trials, but rows of one sweep are not independent of each other.
 *
 * With one key the logarithm of a row's sum of exponentials is the row's logit: LSE shows what a
 * kernel computed.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiments/shared/dots.h"
#include "experiments/experiment.h"
#include "experiments/shared/kernel_call.h"
#include "experiments/list.h"
#include "experiments/shared/moments.h"
#include "experiments/shared/published.h"
#include "experiments/shared/real.h"
#include "variance.h"
#include "base/number.h"
#include "base/random.h"

#define PUBLISHED_TRIALS 1000
#define OTHERS_SHARE 10 /* inputs that are not normal get a tenth of the trials */
#define KERNEL_TRIALS 4096

/* Streams of a seed: far from each other, so that parts do not share numbers. */
enum { STREAM_PUBLISHED = 1000, STREAM_SWEEP = 2000, STREAM_KERNELS = 3000 };

static const struct parameter parameters[] = {
    {"d", "LIST", "1..16384", NULL, "dimensions of the sweep", PARAMETER_COUNTS, 1, 65536, NULL},
    {"trials", "N", "1000000", "100000",
     "inner products per d; a tenth for inputs other than normal", PARAMETER_COUNT, 100, 1e9, NULL},
    {"inputs", "LIST", "normal,uniform,rademacher,heavy", NULL, "distributions of q and k",
     PARAMETER_WORDS, 0, 0, distribution_names},
    {"kernel-d", "LIST", "16,64,256,1024", NULL, "dimensions of the logits of kernels",
     PARAMETER_COUNTS, 1, 4096, NULL},
    {0},
};

/* ---- the plan -------------------------------------------------------------------------------- */

static json_t *step(const char *part, json_int_t seed, json_int_t trials)
{
    return json_pack("{s:s, s:I, s:I}", "part", part, "seed", seed, "trials", trials);
}

static void plan_published(json_t *steps, const json_t *published, json_int_t seed)
{
    size_t i;
    const json_t *d;
    json_array_foreach (json_object_get(published, "dims"), i, d) {
        json_t *s = step("published", seed, PUBLISHED_TRIALS);
        json_object_set_new(s, "input", json_string("normal"));
        json_object_set_new(s, "d", json_pack("[O]", d));
        json_object_set_new(s, "before", json_real(experiment_at_number(published, "before", i)));
        json_object_set_new(s, "after", json_real(experiment_at_number(published, "after", i)));
        json_array_append_new(steps, s);
    }
}

static json_t *plan(const json_t *asked, char *message, size_t message_size)
{
    const json_int_t seed = json_integer_value(json_object_get(asked, "seed"));
    const json_int_t trials = json_integer_value(json_object_get(asked, "trials"));
    json_t *published = published_load("variance_of_dot_products", message, message_size);
    json_t *steps = published ? json_array() : NULL;
    size_t i;
    const json_t *input;
    if (!steps)
        return NULL;
    plan_published(steps, published, seed);
    json_decref(published);
    json_array_foreach (json_object_get(asked, "inputs"), i, input) {
        const bool normal = strcmp(json_string_value(input), "normal") == 0;
        json_t *s = step("sweep", seed,
                         normal || trials < OTHERS_SHARE * 100 ? trials : trials / OTHERS_SHARE);
        json_object_set(s, "input", (json_t *)input);
        json_object_set(s, "d", json_object_get(asked, "d"));
        json_array_append_new(steps, s);
    }
    for (size_t layer = 0; real_layers[layer].file; layer++)
        json_array_append_new(steps, json_pack("{s:s, s:s, s:s}", "part", "real", "file",
                                               real_layers[layer].file, "prefix",
                                               real_layers[layer].prefix));
    for (const char *const *name = kernel_call_names(); *name; name++) {
        json_t *s = step("kernels", seed, KERNEL_TRIALS);
        json_object_set_new(s, "input", json_string("normal"));
        json_object_set_new(s, "kernel", json_string(*name));
        json_object_set(s, "d", json_object_get(asked, "kernel-d"));
        json_array_append_new(steps, s);
    }
    return steps;
}

/* ---- rows of random inner products ----------------------------------------------------------- */

/* Adds a variance, its interval and its theory, of a sum of `d` products. */
static void describe(json_t *values, const struct moments *m,
                     const struct distribution_facts *facts, double d)
{
    const struct variance v = moments_variance(m);
    const double product2 = facts->variance * facts->variance;
    const double product4 = facts->fourth * facts->fourth;
    const double theory = d * product2;
    /* Fourth moment of a sum of d independent products of mean 0. */
    const double fourth = d * product4 + 3 * d * (d - 1) * product2 * product2;
    const double half = moments_half_width(m->n, theory, fourth);
    const double expected[] = {theory - half, theory + half};
    const double raw[] = {v.lo, v.hi}, scaled[] = {v.lo / d, v.hi / d};
    json_object_set_new(values, "mean", number_json(v.mean));
    json_object_set_new(values, "variance", number_json(v.variance));
    json_object_set_new(values, "ci95", experiment_numbers(raw, 2));
    json_object_set_new(values, "scaled", number_json(v.variance / d));
    json_object_set_new(values, "scaled_ci95", experiment_numbers(scaled, 2));
    json_object_set_new(values, "theory", number_json(theory));
    json_object_set_new(values, "theory_range95", experiment_numbers(expected, 2));
    json_object_set_new(values, "scaled_theory", number_json(product2));
}

/* What was printed, and whether it lies inside the interval. */
static void judge_published(json_t *values, const json_t *s)
{
    static const char *const pairs[][3] = {{"before", "ci95", "before_inside"},
                                           {"after", "scaled_ci95", "after_inside"}};
    for (size_t i = 0; i < 2; i++) {
        const double printed = experiment_number(s, pairs[i][0]);
        const bool inside = printed >= experiment_at_number(values, pairs[i][1], 0) &&
                            printed <= experiment_at_number(values, pairs[i][1], 1);
        json_object_set_new(values, pairs[i][0], json_real(printed));
        json_object_set_new(values, pairs[i][2], json_boolean(inside));
    }
}

static json_t *params_of(const json_t *s, size_t d)
{
    json_t *params = json_object();
    static const char *const keys[] = {"part", "input", "trials", "seed", "kernel", NULL};
    experiment_take(params, s, keys);
    json_object_set_new(params, "d", json_integer((json_int_t)d));
    return params;
}

static json_t *compute_dots(const json_t *s, const size_t *dims, size_t count,
                            struct experiment_work *work)
{
    const bool published = strcmp(experiment_text(s, "part"), "published") == 0;
    const enum distribution input = distribution_find(experiment_text(s, "input"));
    const uint64_t seed = (uint64_t)json_integer_value(json_object_get(s, "seed"));
    const uint64_t stream = published ? STREAM_PUBLISHED + dims[0] : STREAM_SWEEP + input;
    const size_t trials = (size_t)json_integer_value(json_object_get(s, "trials"));
    struct moments *moments = calloc(count, sizeof *moments);
    if (input == DISTRIBUTION_COUNT || !moments ||
        !variance_dots(input, random_key(seed, stream), trials, dims, count, work->threads,
                       moments)) {
        snprintf(work->message, sizeof work->message, "out of memory");
        free(moments);
        return NULL;
    }
    json_t *rows = json_array();
    for (size_t c = 0; c < count; c++) {
        json_t *values = json_object();
        describe(values, &moments[c], &distributions[input], (double)dims[c]);
        if (published)
            judge_published(values, s);
        json_array_append_new(rows, experiment_row(params_of(s, dims[c]), values));
    }
    free(moments);
    return rows;
}

/* ---- rows of kernels ------------------------------------------------------------------------- */

/* Scales by which a kernel multiplies: d to the power of these. */
static const struct {
    const char *name;
    double power;
} scales[] = {{"1", 0}, {"d^-1/4", -0.25}, {"d^-1/2", -0.5}, {"1/d", -1}};
#define SCALES (sizeof scales / sizeof *scales)

static json_t *kernel_row(const json_t *s, size_t d, size_t scale, const struct attn_kernel *kernel,
                          struct kernel_call *call)
{
    struct moments m = {0};
    json_t *params = params_of(s, d), *values = json_object();
    const double factor = pow((double)d, 2 * scales[scale].power);
    kernel_call_run(call);
    for (size_t b = 0; b < call->plan.problem.batch; b++)
        moments_add(&m, (double)*(const float *)attn_row(&call->set.tensors.lse, b, 0, 0));
    const struct variance v = moments_variance(&m);
    const double interval[] = {v.lo, v.hi};
    json_object_set_new(params, "isa", json_string(attn_isa_name(kernel->isa)));
    json_object_set_new(params, "scale", json_string(scales[scale].name));
    json_object_set_new(values, "mean", number_json(v.mean));
    json_object_set_new(values, "variance", number_json(v.variance));
    json_object_set_new(values, "ci95", experiment_numbers(interval, 2));
    json_object_set_new(values, "theory", number_json((double)d * factor));
    return experiment_row(params, values);
}

/* The problem whose LSE is the logit of a random query and a random key, `trials` of them. */
static struct problem_case logits_case(const json_t *s, size_t d)
{
    struct problem_case c = {.name = "logits", .input = {.kind = INPUT_NORMAL}};
    const uint64_t seed = (uint64_t)json_integer_value(json_object_get(s, "seed"));
    attn_problem_init(&c.problem);
    c.problem.batch = (size_t)json_integer_value(json_object_get(s, "trials"));
    c.problem.qk_dim = c.problem.v_dim = d;
    c.problem.outputs = ATTN_OUTPUT_O | ATTN_OUTPUT_LSE;
    c.input.seed = random_key(seed, STREAM_KERNELS + d);
    return c;
}

/* One kernel at one d: all scales on the same operands. */
static bool kernel_rows(const json_t *s, size_t d, json_t *rows, struct experiment_work *work)
{
    const struct problem_case c = logits_case(s, d);
    struct kernel_call call;
    const struct attn_kernel *kernel = kernel_call_find(experiment_text(s, "kernel"), &c.problem,
                                                        work->message, sizeof work->message);
    if (!kernel || !kernel_call_open(&call, kernel, &c.problem, work->threads, work->message,
                                     sizeof work->message))
        return false;
    bool right = tensors_fill(&call.set, &c, 0, work->message, sizeof work->message);
    for (size_t i = 0; right && i < SCALES; i++) {
        right = kernel_call_scale(&call, (float)pow((double)d, scales[i].power), work->message,
                                  sizeof work->message);
        if (right)
            json_array_append_new(rows, kernel_row(s, d, i, kernel, &call));
    }
    kernel_call_close(&call);
    return right;
}

static json_t *compute(const json_t *s, struct experiment_work *work)
{
    const json_t *list = json_object_get(s, "d");
    const size_t count = json_array_size(list);
    size_t dims[64];
    if (json_object_get(s, "file"))
        return variance_real_rows(s, work);
    if (count == 0 || count > sizeof dims / sizeof *dims) {
        snprintf(work->message, sizeof work->message, "a step of %zu dimensions", count);
        return NULL;
    }
    for (size_t c = 0; c < count; c++)
        dims[c] = (size_t)json_integer_value(json_array_get(list, c));
    if (!json_object_get(s, "kernel"))
        return compute_dots(s, dims, count, work);
    json_t *rows = json_array();
    for (size_t c = 0; c < count; c++)
        if (!kernel_rows(s, dims[c], rows, work)) {
            json_decref(rows);
            return NULL;
        }
    return rows;
}

const struct experiment experiment_variance = {
    .name = "variance",
    .question = "Why are the scores divided by sqrt(d)?",
    .method =
        "Draws q and k of independent elements, takes q.k, and compares the variance over many\n"
        "trials with the exact one, d times the elements' variances: with the published 1000\n"
        "trials at d = 10, 100 and 1000, then over a sweep of d, then of the heads of a real\n"
        "transformer, then as logits that each kernel saw (LSE of a row with one key).  Intervals\n"
        "are 95 %, from the fourth moment; of real heads from leaving out each token.  Fails\n"
        "where a published variance lies outside of its interval, which another seed may bring\n"
        "about by chance: two estimates of 1000 trials differ by more than one's interval in one\n"
        "case of six.",
    .source = "Vaswani et al. 2017, arXiv:1706.03762, footnote 4",
    .parameters = parameters,
    .plan = plan,
    .compute = compute,
    .report = variance_report,
};
