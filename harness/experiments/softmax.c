/*
 * softmax: the effect of a multiplier on the logits.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "base/stats.h"
#include "experiment.h"
#include "experiments/shared/kernel_call.h"
#include "experiments/shared/kernel_weights.h"
#include "experiments/shared/softmax_facts.h"
#include "results/report.h"

#define STREAM_LOGITS 4000
#define MOST_PUBLISHED 64 /* logits of the published example */
#define DIGITS 32         /* bytes of a printed number */

static const char *const inputs[] = {"normal", "uniform", NULL};

static const struct option parameters[] = {
    {"multipliers", "LIST", "0.0625,0.125,0.25,0.5,1,2,4,8,16,32,64", NULL, "factors on the logits",
     .kind = OPTION_NUMBERS, .lo = 1e-6, .hi = 1e6},
    {"keys", "LIST", "64,1024", NULL, "logits of a random row", .kind = OPTION_COUNTS, .lo = 2,
     .hi = 65536},
    {"inputs", "LIST", "normal,uniform", NULL,
     "distributions of random logits, of standard deviation 1", .kind = OPTION_WORDS,
     .words = inputs},
    {"rows", "N", "1000", "100", "random rows that are averaged", .kind = OPTION_COUNT, .lo = 1,
     .hi = 1e6},
    {0},
};

/* The weights that the notebook printed: name in the file, multiplier, format of numbers. */
static const struct {
    const char *key;
    double multiplier;
    const char *format;
} printed[] = {{"softmax", 1, "%.4f"}, {"softmax_of_8x", 8, "%.4e"}};
#define PRINTED (sizeof printed / sizeof *printed)

static void plan(const json_t *asked, json_t *steps)
{
    static const char *const definition[] = {"definition", NULL};
    json_t *example = experiment_published("softmax_peaky", NULL);
    json_t *base = json_pack("{s:s, s:O}", "part", "published", "x", json_object_get(example, "x"));
    experiment_steps(steps, json_copy(base), NULL, "by", definition);
    experiment_steps(steps, json_copy(base), NULL, "by", kernel_call_names());
    json_object_set_new(base, "part", json_string("multiplier"));
    json_object_set_new(base, "input", json_string("published"));
    json_array_append_new(steps, experiment_pick(base, asked, "multipliers"));
    base =
        experiment_pick(json_pack("{s:s}", "part", "multiplier"), asked, "rows seed multipliers");
    experiment_steps(steps, base, asked, "input=inputs keys=keys", NULL);
    json_decref(example);
}

/* ---- the published example ------------------------------------------------------------------- */

/* Weights p of a query of 1 on keys x, so that the logits are x times the multiplier. */
static bool weights_of(const char *by, const double *x, size_t n, double multiplier, double *p,
                       struct experiment_work *work)
{
    const float q = 1;
    float k[MOST_PUBLISHED];
    double scaled[MOST_PUBLISHED];
    for (size_t j = 0; j < n; j++) {
        scaled[j] = multiplier * x[j];
        k[j] = (float)x[j];
    }
    const struct kernel_weights_head head = {
        .q = &q, .k = k, .rows = 1, .keys = n, .dim = 1, .stride = 1, .scale = (float)multiplier};
    if (strcmp(by, "definition") != 0)
        return kernel_weights(by, &head, p, work);
    softmax_facts(scaled, n, p);
    return true;
}

static bool compute_published(const json_t *s, json_t *rows, struct experiment_work *work)
{
    double x[MOST_PUBLISHED], p[MOST_PUBLISHED];
    const json_t *logits = json_object_get(s, "x");
    const size_t n = json_array_size(logits);
    json_t *example = experiment_published("softmax_peaky", work);
    bool right = example && n <= MOST_PUBLISHED;
    for (size_t j = 0; right && j < n; j++)
        x[j] = experiment_at_number(s, "x", j);
    for (size_t i = 0; right && i < PRINTED; i++) {
        right = weights_of(member_text(s, "by"), x, n, printed[i].multiplier, p, work);
        if (right)
            experiment_add(rows,
                           experiment_pick(json_pack("{s:s, s:f}", "printed", printed[i].key,
                                                     "multiplier", printed[i].multiplier),
                                           s, "part by x"),
                           json_pack("{s:o, s:O}", "weights", number_array(p, n), "printed",
                                     json_object_get(example, printed[i].key)));
    }
    json_decref(example);
    return right;
}

/* ---- the sweep ------------------------------------------------------------------------------- */

/* Rows of `keys` logits each, scratch for one row, and the gradients of all rows. */
struct sweep {
    size_t keys, rows;
    float *logits;
    double *x, *p, *gradients;
};

/* N(0, 1), or uniform in +-sqrt(3); both have variance 1. */
static void draw_logits(struct sweep *sweep, const char *input, uint64_t key)
{
    const size_t n = sweep->keys * sweep->rows;
    if (strcmp(input, "uniform") == 0) {
        random_uniform(sweep->logits, n, key, 0);
        for (size_t j = 0; j < n; j++)
            sweep->logits[j] *= 1.7320508f;
    } else {
        random_normal(sweep->logits, n, key, 0);
    }
}

/* The logits of the published example, or random ones; false if memory runs out. */
static bool sweep_open(struct sweep *sweep, const json_t *s, struct experiment_work *work)
{
    const json_t *published = json_object_get(s, "x");
    sweep->keys = published ? json_array_size(published) : experiment_count(s, "keys");
    sweep->rows = published ? 1 : experiment_count(s, "rows");
    sweep->logits = experiment_alloc(work, sweep->keys * sweep->rows, sizeof *sweep->logits);
    sweep->x = experiment_alloc(work, sweep->keys, sizeof *sweep->x);
    sweep->p = experiment_alloc(work, sweep->keys, sizeof *sweep->p);
    sweep->gradients = experiment_alloc(work, sweep->rows, sizeof *sweep->gradients);
    if (!sweep->logits || !sweep->x || !sweep->p || !sweep->gradients)
        return false;
    for (size_t j = 0; published && j < sweep->keys; j++)
        sweep->logits[j] = (float)experiment_at_number(s, "x", j);
    if (!published)
        draw_logits(sweep, member_text(s, "input"),
                    random_key(experiment_count(s, "seed"), STREAM_LOGITS + sweep->keys));
    return true;
}

/* Means over the rows, and the median gradient. */
static json_t *sweep_values(const struct sweep *sweep, double multiplier)
{
    const double rows = (double)sweep->rows;
    struct softmax_facts sum = {0};
    for (size_t row = 0; row < sweep->rows; row++) {
        for (size_t j = 0; j < sweep->keys; j++)
            sweep->x[j] = multiplier * (double)sweep->logits[row * sweep->keys + j];
        const struct softmax_facts facts = softmax_facts(sweep->x, sweep->keys, sweep->p);
        sum.entropy += facts.entropy;
        sum.largest += facts.largest;
        sum.jacobian += facts.jacobian;
        sweep->gradients[row] = multiplier * facts.frobenius;
    }
    return experiment_values((struct experiment_value[]){
        {"entropy", sum.entropy / rows},
        {"effective_keys", exp(sum.entropy / rows)},
        {"largest", sum.largest / rows},
        {"jacobian", sum.jacobian / rows},
        {"gradient", stats_median_of(sweep->gradients, sweep->rows)},
        {0},
    });
}

static bool compute(const json_t *s, json_t *rows, struct experiment_work *work)
{
    struct sweep sweep;
    const json_t *multiplier;
    size_t i;
    if (experiment_is(s, "part", "published"))
        return compute_published(s, rows, work);
    if (!sweep_open(&sweep, s, work))
        return false;
    json_array_foreach (json_object_get(s, "multipliers"), i, multiplier)
        experiment_add(rows,
                       experiment_pick(json_pack("{s:O}", "multiplier", multiplier), s,
                                       "part input keys rows seed"),
                       sweep_values(&sweep, json_number_value(multiplier)));
    return true;
}

/* ---- the report ------------------------------------------------------------------------------ */

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* the formats of the table above */

/* Whether a weight, printed in the notebook's format, is the notebook's. */
static bool same_digits(const char *key, double weight, double expected)
{
    char text[DIGITS], wanted[DIGITS];
    const char *format = printed[strcmp(printed[0].key, key) != 0].format;
    snprintf(text, DIGITS, format, weight);
    snprintf(wanted, DIGITS, format, expected);
    return strcmp(text, wanted) == 0;
}

#pragma GCC diagnostic pop

/* How many rows of weights differ from those printed. */
static size_t count_wrong(const json_t *rows)
{
    struct experiment_part part = {.rows = rows, .where = "part=published"};
    size_t wrong = 0;
    while (experiment_part_next(&part)) {
        const size_t n = json_array_size(json_object_get(part.values, "weights"));
        bool same = n > 0;
        for (size_t j = 0; j < n; j++)
            same &= same_digits(member_text(part.params, "printed"),
                                experiment_at_number(part.values, "weights", j),
                                experiment_at_number(part.values, "printed", j));
        if (!same)
            report_sentence("By %s, times %g: DIFFERS.", member_text(part.params, "by"),
                            member_number(part.params, "multiplier"));
        wrong += !same;
    }
    return wrong;
}

/* The multiplier at which the gradient of the longest random rows is largest. */
struct peak {
    double keys, multiplier, gradient, last_multiplier, last_gradient, last_largest;
};

static struct peak find_peak(const json_t *rows, const char *input)
{
    struct experiment_part part = {.rows = rows, .where = "part=multiplier"};
    struct peak peak = {0};
    while (experiment_part_next(&part)) {
        const double keys = member_number(part.params, "keys");
        if (!experiment_is(part.params, "input", input) || !(keys >= peak.keys))
            continue;
        if (keys > peak.keys)
            peak = (struct peak){.keys = keys};
        peak.last_multiplier = member_number(part.params, "multiplier");
        peak.last_gradient = member_number(part.values, "gradient");
        peak.last_largest = member_number(part.values, "largest");
        if (peak.last_gradient > peak.gradient) {
            peak.gradient = peak.last_gradient;
            peak.multiplier = peak.last_multiplier;
        }
    }
    return peak;
}

static bool report(const json_t *rows)
{
    experiment_list(rows, "part=published", "multiplier by weights",
                    "softmax of the published logits");
    experiment_list(rows, "part=multiplier",
                    "input keys multiplier entropy effective_keys largest jacobian gradient",
                    "softmax of the logits times a multiplier");
    const size_t wrong = count_wrong(rows);
    for (const char *const *input = inputs; *input; input++) {
        const struct peak peak = find_peak(rows, *input);
        if (peak.keys > 0 && peak.multiplier == peak.last_multiplier)
            report_sentence(
                "With %.0f %s logits of spread 1 softmax lets more gradient through the "
                "larger the multiplier, up to %g (%.3g), where the largest weight is %.2g.",
                peak.keys, *input, peak.multiplier, peak.gradient, peak.last_largest);
        else if (peak.keys > 0)
            report_sentence("With %.0f %s logits of spread 1 softmax lets the largest gradient "
                            "through at a multiplier of %g (%.3g); at %g the largest weight is "
                            "%.2g and the gradient %.2g of that.",
                            peak.keys, *input, peak.multiplier, peak.gradient, peak.last_multiplier,
                            peak.last_largest, peak.last_gradient / peak.gradient);
    }
    if (wrong)
        report_sentence("%zu rows differ from what was printed.", wrong);
    return wrong == 0;
}

const struct calculation calculation_softmax = {
    .parameters = parameters,
    .ready = experiment_published_ready,
    .plan = plan,
    .compute = compute,
    .report = report,
};
