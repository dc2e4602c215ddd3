/*
 * variance: why 1/sqrt(d).
 *
 * Four parts: the published experiment, the same for all d with many trials, the logits of a transformer's
 * heads, and the logits that kernels compute.  At each d the inner product is over a trial's first d
 * dimensions, so that a sweep costs as much as its largest d; rows of a sweep are therefore not independent
 * of each other.
 *
 * With a single key a row's LSE is its logit, so that LSE shows which logit a kernel computed.
 */
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "experiment.h"
#include "experiments/shared/dots.h"
#include "experiments/shared/kernel_call.h"
#include "experiments/shared/layer_heads.h"
#include "parts.h"
#include "results/report.h"

#define PUBLISHED_TRIALS 1000
#define OTHERS_SHARE 10 /* inputs that are not normal get a tenth of the trials */
#define KERNEL_TRIALS 4096

/* Streams of random numbers, far enough apart that parts share none. */
enum { STREAM_PUBLISHED = 1000, STREAM_SWEEP = 2000, STREAM_KERNELS = 3000 };

static const struct option parameters[] = {
    {"d", "LIST", "1..16384*2", NULL, "dimensions of the sweep", .kind = OPTION_COUNTS, .lo = 1,
     .hi = 65536},
    {"trials", "N", "1000000", "100000",
     "inner products per d; a tenth for inputs other than normal", .kind = OPTION_COUNT, .lo = 100,
     .hi = 1e9},
    {"inputs", "LIST", "normal,uniform,rademacher,heavy", NULL, "distributions of q and k",
     .kind = OPTION_WORDS, .words = distribution_names},
    {"kernel-d", "LIST", "16,64,256,1024", NULL, "dimensions of the logits of kernels",
     .kind = OPTION_COUNTS, .lo = 1, .hi = 4096},
    {0},
};

/* ---- the plan -------------------------------------------------------------------------------- */

static void plan_published(json_t *steps, const json_t *published, const json_t *seed)
{
    const json_t *d, *before = json_object_get(published, "before");
    const json_t *after = json_object_get(published, "after");
    size_t i;
    json_array_foreach (json_object_get(published, "dims"), i, d)
        json_array_append_new(
            steps, json_pack("{s:s, s:s, s:i, s:O, s:[O], s:O, s:O}", "part", "published", "input",
                             "normal", "trials", PUBLISHED_TRIALS, "seed", seed, "d", d, "before",
                             json_array_get(before, i), "after", json_array_get(after, i)));
}

static void plan(const json_t *asked, json_t *steps)
{
    const json_t *seed = json_object_get(asked, "seed"), *input;
    const size_t trials = experiment_count(asked, "trials");
    const size_t fewer = trials < OTHERS_SHARE * 100 ? trials : trials / OTHERS_SHARE;
    json_t *published = experiment_published("variance_of_dot_products", NULL);
    size_t i;
    plan_published(steps, published, seed);
    json_decref(published);
    json_array_foreach (json_object_get(asked, "inputs"), i, input) {
        const bool normal = strcmp(json_string_value(input), "normal") == 0;
        json_array_append_new(steps,
                              json_pack("{s:s, s:O, s:I, s:O, s:O}", "part", "sweep", "input",
                                        input, "trials", (json_int_t)(normal ? trials : fewer),
                                        "seed", seed, "d", json_object_get(asked, "d")));
    }
    layer_heads_steps(steps, json_pack("{s:s}", "part", "real"));
    experiment_steps(steps,
                     json_pack("{s:s, s:s, s:i, s:O, s:O}", "part", "kernels", "input", "normal",
                               "trials", KERNEL_TRIALS, "seed", seed, "d",
                               json_object_get(asked, "kernel-d")),
                     NULL, "kernel", kernel_call_names());
}

static json_t *params_of(const json_t *s, size_t d)
{
    return experiment_pick(json_pack("{s:I}", "d", (json_int_t)d), s,
                           "part input trials seed kernel");
}

/* ---- rows of random inner products ----------------------------------------------------------- */

/* The variance of a sum of d products, its interval, and its exact value. */
static json_t *describe(const struct moments *m, const struct distribution_facts *facts, double d)
{
    const struct variance v = moments_variance(m);
    const double product2 = facts->variance * facts->variance;
    const double product4 = facts->fourth * facts->fourth;
    const double theory = d * product2;
    /* Fourth moment of a sum of d independent products of mean 0. */
    const double fourth = d * product4 + 3 * d * (d - 1) * product2 * product2;
    const double half = moments_half_width(m->n, theory, fourth);
    json_t *values = experiment_values((struct experiment_value[]){{"mean", v.mean},
                                                                   {"variance", v.variance},
                                                                   {"scaled", v.variance / d},
                                                                   {"theory", theory},
                                                                   {"scaled_theory", product2},
                                                                   {0}});
    json_object_set_new(values, "ci95", experiment_range(v.lo, v.hi));
    json_object_set_new(values, "scaled_ci95", experiment_range(v.lo / d, v.hi / d));
    json_object_set_new(values, "theory_range95", experiment_range(theory - half, theory + half));
    return values;
}

static bool holds(const json_t *values, const char *interval, double x)
{
    return x >= experiment_at_number(values, interval, 0) &&
           x <= experiment_at_number(values, interval, 1);
}

/* Adds the published variances, and whether they lie inside the interval. */
static void judge_published(json_t *values, const json_t *s)
{
    const double before = member_number(s, "before"), after = member_number(s, "after");
    json_object_set_new(values, "before", json_real(before));
    json_object_set_new(values, "before_inside", json_boolean(holds(values, "ci95", before)));
    json_object_set_new(values, "after", json_real(after));
    json_object_set_new(values, "after_inside", json_boolean(holds(values, "scaled_ci95", after)));
}

static bool compute_dots(const json_t *s, const size_t *dims, size_t count, json_t *rows,
                         struct experiment_work *work)
{
    const bool published = experiment_is(s, "part", "published");
    const enum distribution input = distribution_find(member_text(s, "input"));
    const uint64_t stream = published ? STREAM_PUBLISHED + dims[0] : STREAM_SWEEP + input;
    struct moments *moments = experiment_alloc(work, count, sizeof *moments);
    if (!moments ||
        !dots_moments(input, random_key(experiment_count(s, "seed"), stream),
                      experiment_count(s, "trials"), dims, count, work->threads, moments))
        return false;
    for (size_t c = 0; c < count; c++) {
        json_t *values = describe(&moments[c], &distributions[input], (double)dims[c]);
        if (published)
            judge_published(values, s);
        experiment_add(rows, params_of(s, dims[c]), values);
    }
    return true;
}

/* ---- rows of kernels ------------------------------------------------------------------------- */

static void kernel_row(const json_t *s, size_t d, size_t scale, struct kernel_call *call,
                       json_t *rows)
{
    struct moments m = {0};
    json_t *params = params_of(s, d);
    kernel_call_run(call);
    for (size_t b = 0; b < call->plan.problem.batch; b++)
        moments_add(&m, (double)*(const float *)attn_row(&call->set.tensors.lse, b, 0, 0));
    const struct variance v = moments_variance(&m);
    const double theory = (double)d * pow((double)d, 2 * dots_scales[scale].power);
    json_t *values = experiment_values((struct experiment_value[]){
        {"mean", v.mean}, {"variance", v.variance}, {"theory", theory}, {0}});
    json_object_set_new(values, "ci95", experiment_range(v.lo, v.hi));
    json_object_set_new(params, "isa", json_string(attn_isa_name(call->plan.kernel->isa)));
    json_object_set_new(params, "scale", json_string(dots_scales[scale].name));
    experiment_add(rows, params, values);
}

/* Rows of one kernel at one d, all scales on equal operands.  The LSE of each sequence is the logit of a
 * random query and a random key. */
static bool kernel_rows(const json_t *s, size_t d, json_t *rows, struct experiment_work *work)
{
    struct problem_case c = {.name = "logits", .input = {.kind = INPUT_NORMAL}};
    struct kernel_call call;
    attn_problem_init(&c.problem);
    c.problem.batch = experiment_count(s, "trials");
    c.problem.qk_dim = c.problem.v_dim = d;
    c.problem.outputs = ATTN_OUTPUT_O | ATTN_OUTPUT_LSE;
    c.input.seed = random_key(experiment_count(s, "seed"), STREAM_KERNELS + d);
    const struct attn_kernel *kernel = kernel_call_find(member_text(s, "kernel"), &c.problem, work);
    if (!kernel)
        return false;
    for (size_t i = 0; i < DOTS_SCALES; i++) {
        c.problem.scale = (float)pow((double)d, dots_scales[i].power);
        if (!kernel_call_case(&call, kernel, &c, work->threads, work))
            return false;
        kernel_row(s, d, i, &call, rows);
        kernel_call_close(&call);
    }
    return true;
}

static bool compute(const json_t *s, json_t *rows, struct experiment_work *work)
{
    size_t dims[64];
    const size_t count = experiment_counts(s, "d", dims, sizeof dims / sizeof *dims);
    bool right = true;
    if (experiment_is(s, "part", "real"))
        return variance_heads(s, rows, work);
    if (!experiment_is(s, "part", "kernels"))
        return compute_dots(s, dims, count, rows, work);
    for (size_t c = 0; right && c < count; c++)
        right = kernel_rows(s, dims[c], rows, work);
    return right;
}

/* ---- the report ------------------------------------------------------------------------------ */

/* Rows of random inner products, how many of their intervals hold the exact variance, and the largest
 * |variance / exact - 1|. */
struct held {
    size_t rows, held;
    double farthest;
};

static struct held held_of(const json_t *rows)
{
    struct experiment_part part = {.rows = rows, .where = "part=sweep"};
    struct held all = {0};
    while (experiment_part_next(&part)) {
        const double theory = member_number(part.values, "theory");
        all.rows++;
        all.held += holds(part.values, "ci95", theory);
        all.farthest =
            fmax(all.farthest, fabs(member_number(part.values, "variance") / theory - 1));
    }
    return all;
}

static bool report(const json_t *rows)
{
    const size_t wrong = experiment_where(rows, "part=published before_inside=false") +
                         experiment_where(rows, "part=published after_inside=false");
    const struct experiment_extent real = experiment_extent(rows, "part=real", "scaled");
    const struct held sweep = held_of(rows);
    experiment_list(rows, "part=published",
                    "d variance ci95 before before_inside scaled scaled_ci95? after after_inside",
                    "var(q.k), and scaled by 1/d, of 1000 trials, beside those printed before and "
                    "after the scale");
    experiment_list(rows, "part=sweep", "input d variance ci95 theory scaled scaled_ci95",
                    "var(q.k), and scaled by 1/d, over d, beside the exact one");
    experiment_list(rows, "part=real",
                    "prefix head d variance scaled scaled_ci95 scaled_independent",
                    "var(q.k) of a transformer's heads, and if dimensions were independent");
    experiment_list(rows, "part=kernels", "kernel isa d scale theory variance ci95",
                    "variance of the logits that the kernels saw, by the scale they were given");
    if (real.rows) /* scaled variances of a transformer's heads */
        report_sentence(
            "A trained model does not keep the variance at 1: var(q.k / sqrt(d)) of its heads is "
            "%.2g to %.3g, which it learnt on top of the scale.",
            real.least, real.most);
    if (sweep.rows)
        report_sentence(
            "The variance of q.k is d times that of one product, whatever the elements' "
            "distribution (%zu of %zu intervals hold the exact value, the farthest estimate is "
            "%.2g %% off), so only 1/sqrt(d) keeps the logits' spread the same at every d.",
            sweep.held, sweep.rows, 100 * sweep.farthest);
    if (wrong)
        report_sentence("%zu published variances lie outside of their intervals.", wrong);
    return wrong == 0;
}

const struct calculation calculation_variance = {
    .parameters = parameters,
    .ready = experiment_published_ready,
    .plan = plan,
    .compute = compute,
    .report = report,
};
