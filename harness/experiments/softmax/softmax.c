/*
 * softmax: what a multiplier in front of the logits does.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiments/experiment.h"
#include "experiments/shared/kernel_call.h"
#include "experiments/shared/kernel_weights.h"
#include "experiments/list.h"
#include "experiments/shared/published.h"
#include "softmax.h"
#include "experiments/shared/softmax_facts.h"
#include "base/number.h"
#include "base/random.h"
#include "base/stats.h"

#define STREAM_LOGITS 4000
#define MOST_PUBLISHED 64 /* logits of the published example */

const char *const softmax_inputs[] = {"normal", "uniform", NULL};

static const struct parameter parameters[] = {
    {"multipliers", "LIST", "0.0625..64", NULL, "factors on the logits", PARAMETER_NUMBERS, 1e-6,
     1e6, NULL},
    {"keys", "LIST", "64,1024", NULL, "logits of a random row", PARAMETER_COUNTS, 2, 65536, NULL},
    {"inputs", "LIST", "normal,uniform", NULL,
     "distributions of random logits, of standard deviation 1", PARAMETER_WORDS, 0, 0,
     softmax_inputs},
    {"rows", "N", "1000", "100", "random rows that are averaged", PARAMETER_COUNT, 1, 1e6, NULL},
    {0},
};

/* How the notebook printed each: a name in the file, the multiplier, its format of numbers. */
const struct softmax_printed softmax_printed[] = {
    {"softmax", 1, "%.4f"}, {"softmax_of_8x", 8, "%.4e"}, {0}};

/* ---- the plan -------------------------------------------------------------------------------- */

static json_t *plan(const json_t *asked, char *message, size_t message_size)
{
    const json_t *input, *keys;
    size_t i, k;
    json_t *example = published_load("softmax_peaky", message, message_size);
    json_t *steps = example ? json_array() : NULL;
    if (!example)
        return NULL;
    const json_t *x = json_object_get(example, "x");
    json_array_append_new(
        steps, json_pack("{s:s, s:s, s:O}", "part", "published", "by", "definition", "x", x));
    for (const char *const *name = kernel_call_names(); *name; name++)
        json_array_append_new(
            steps, json_pack("{s:s, s:s, s:O}", "part", "published", "by", *name, "x", x));
    json_array_append_new(steps, json_pack("{s:s, s:s, s:O, s:O}", "part", "multiplier", "input",
                                           "published", "x", x, "multipliers",
                                           json_object_get(asked, "multipliers")));
    json_array_foreach (json_object_get(asked, "inputs"), k, input)
        json_array_foreach (json_object_get(asked, "keys"), i, keys)
            json_array_append_new(steps, json_pack("{s:s, s:O, s:O, s:O, s:O, s:O}", "part",
                                                   "multiplier", "input", input, "keys", keys,
                                                   "rows", json_object_get(asked, "rows"), "seed",
                                                   json_object_get(asked, "seed"), "multipliers",
                                                   json_object_get(asked, "multipliers")));
    json_decref(example);
    return steps;
}

/* ---- the published example ------------------------------------------------------------------- */

static size_t numbers_of(const json_t *array, double *x, size_t capacity)
{
    const size_t n = json_array_size(array);
    for (size_t i = 0; i < n && i < capacity; i++)
        x[i] = json_number_value(json_array_get(array, i));
    return n < capacity ? n : capacity;
}

/* Weights of one query, 1, and keys x, so that its logits are x times the multiplier. */
static bool weights_of(const char *kernel, const double *x, size_t n, double multiplier, double *p,
                       struct experiment_work *work)
{
    const float q = 1;
    float k[MOST_PUBLISHED];
    for (size_t j = 0; j < n; j++)
        k[j] = (float)x[j];
    const struct weights_head head = {
        .q = &q, .k = k, .rows = 1, .keys = n, .dim = 1, .stride = 1, .scale = (float)multiplier};
    return kernel_weights(kernel, &head, p, work);
}

static json_t *compute_published(const json_t *s, struct experiment_work *work)
{
    double x[MOST_PUBLISHED], scaled[MOST_PUBLISHED], p[MOST_PUBLISHED];
    const size_t n = numbers_of(json_object_get(s, "x"), x, MOST_PUBLISHED);
    const char *by = experiment_text(s, "by");
    json_t *example = published_load("softmax_peaky", work->message, sizeof work->message);
    json_t *rows = example ? json_array() : NULL;
    for (const struct softmax_printed *printed = softmax_printed; rows && printed->key; printed++) {
        for (size_t j = 0; j < n; j++)
            scaled[j] = printed->multiplier * x[j];
        if (strcmp(by, "definition") == 0) {
            softmax_facts(scaled, n, p);
        } else if (!weights_of(by, x, n, printed->multiplier, p, work)) {
            json_decref(rows);
            rows = NULL;
            break;
        }
        json_array_append_new(
            rows, experiment_row(json_pack("{s:s, s:s, s:s, s:f, s:O}", "part", "published", "by",
                                           by, "printed", printed->key, "multiplier",
                                           printed->multiplier, "x", json_object_get(s, "x")),
                                 json_pack("{s:o, s:O}", "weights", experiment_numbers(p, n),
                                           "printed", json_object_get(example, printed->key))));
    }
    json_decref(example);
    return rows;
}

/* ---- the sweep ------------------------------------------------------------------------------- */

/* Rows of logits, `keys` each, and what is computed of them. */
struct sweep {
    size_t keys, rows;
    float *logits;
    double *x, *p;                     /* of one row */
    double *gradients;                 /* of each row */
    double entropy, largest, jacobian; /* sums over rows */
};

static void sweep_close(struct sweep *sweep)
{
    free(sweep->logits);
    free(sweep->x);
    free(sweep->p);
    free(sweep->gradients);
}

/* N(0, 1), or uniform in +-sqrt(3), whose variance is 1, too. */
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
static bool sweep_open(struct sweep *sweep, const json_t *s)
{
    const json_t *published = json_object_get(s, "x");
    const uint64_t seed = (uint64_t)json_integer_value(json_object_get(s, "seed"));
    *sweep = (struct sweep){.keys = json_array_size(published), .rows = 1};
    if (!published) {
        sweep->keys = (size_t)json_integer_value(json_object_get(s, "keys"));
        sweep->rows = (size_t)json_integer_value(json_object_get(s, "rows"));
    }
    sweep->logits = calloc(sweep->keys * sweep->rows, sizeof *sweep->logits);
    sweep->x = calloc(sweep->keys, sizeof *sweep->x);
    sweep->p = calloc(sweep->keys, sizeof *sweep->p);
    sweep->gradients = calloc(sweep->rows, sizeof *sweep->gradients);
    if (!sweep->logits || !sweep->x || !sweep->p || !sweep->gradients) {
        sweep_close(sweep);
        return false;
    }
    for (size_t j = 0; published && j < sweep->keys; j++)
        sweep->logits[j] = (float)json_number_value(json_array_get(published, j));
    if (!published)
        draw_logits(sweep, experiment_text(s, "input"),
                    random_key(seed, STREAM_LOGITS + sweep->keys));
    return true;
}

static void sweep_run(struct sweep *sweep, double multiplier)
{
    sweep->entropy = sweep->largest = sweep->jacobian = 0;
    for (size_t row = 0; row < sweep->rows; row++) {
        for (size_t j = 0; j < sweep->keys; j++)
            sweep->x[j] = multiplier * (double)sweep->logits[row * sweep->keys + j];
        const struct softmax_facts facts = softmax_facts(sweep->x, sweep->keys, sweep->p);
        sweep->entropy += facts.entropy;
        sweep->largest += facts.largest;
        sweep->jacobian += facts.jacobian;
        sweep->gradients[row] = multiplier * facts.frobenius;
    }
}

static json_t *sweep_row(const json_t *s, double multiplier, const struct sweep *sweep)
{
    const double rows = (double)sweep->rows;
    json_t *params = json_object();
    experiment_pick(params, s, "part", "input", "keys", "rows", "seed", NULL);
    json_object_set_new(params, "multiplier", json_real(multiplier));
    return experiment_row(
        params, json_pack("{s:f, s:f, s:f, s:f, s:o}", "entropy", sweep->entropy / rows,
                          "effective_keys", exp(sweep->entropy / rows), "largest",
                          sweep->largest / rows, "jacobian", sweep->jacobian / rows, "gradient",
                          number_json(stats_median_of(sweep->gradients, sweep->rows))));
}

static json_t *compute_sweep(const json_t *s, struct experiment_work *work)
{
    struct sweep sweep;
    const json_t *multiplier;
    size_t i;
    if (!sweep_open(&sweep, s)) {
        snprintf(work->message, sizeof work->message, "out of memory");
        return NULL;
    }
    json_t *rows = json_array();
    json_array_foreach (json_object_get(s, "multipliers"), i, multiplier) {
        sweep_run(&sweep, json_number_value(multiplier));
        json_array_append_new(rows, sweep_row(s, json_number_value(multiplier), &sweep));
    }
    sweep_close(&sweep);
    return rows;
}

static json_t *compute(const json_t *s, struct experiment_work *work)
{
    const bool published = strcmp(experiment_text(s, "part"), "published") == 0;
    return published ? compute_published(s, work) : compute_sweep(s, work);
}

const struct experiment experiment_softmax = {
    .name = "softmax",
    .question = "What does a factor in front of the logits do to softmax?",
    .method =
        "Computes the published example, by the definition in float64 and by every kernel, and\n"
        "compares all digits that were printed.  Then multiplies those logits, and rows of\n"
        "N(0, 1) and of uniform ones of the same spread, by each multiplier m: entropy and the\n"
        "keys in use (e^entropy), the largest weight, the spectral norm of the Jacobian\n"
        "diag(p) - p p^T, and the gradient that reaches the logits before the multiplier: m times\n"
        "the Jacobian's Frobenius norm, the root mean square over gradients N(0, I) of the "
        "weights.",
    .source = "Vaswani et al. 2017, arXiv:1706.03762, section 3.2.1; Hinton et al. 2015,\n"
              "arXiv:1503.02531 (the multiplier is an inverse temperature)",
    .parameters = parameters,
    .plan = plan,
    .compute = compute,
    .report = softmax_report,
};
