/*
 * saturation: where softmax stops letting gradients through, over d and scale.
 */
#include "saturation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiments/shared/draw.h"
#include "experiments/experiment.h"
#include "experiments/list.h"
#include "experiments/shared/real.h"
#include "base/number.h"
#include "base/random.h"
#include "base/stats.h"

enum { STREAM_Q = 5000, STREAM_K = 6000 };

/* The scales that are compared. */
static const struct {
    const char *name;
    double power; /* of d */
} scales[SATURATION_SCALES] = {
    {"1", 0}, {"d^-1/4", -0.25}, [SATURATION_ROOT] = {"d^-1/2", -0.5}, {"1/d", -1}};

static const struct parameter parameters[] = {
    {"d", "LIST", "1,4,16,64,256,1024,4096", "4,16,64,256,1024", "dimensions", PARAMETER_COUNTS, 1,
     65536, NULL},
    {"keys", "N", "256", NULL, "keys that a query sees", PARAMETER_COUNT, 2, 65536, NULL},
    {"rows", "N", "256", "64", "queries", PARAMETER_COUNT, 1, 1e6, NULL},
    {"inputs", "LIST", "normal,uniform,rademacher,heavy", "normal", "distributions of q and k",
     PARAMETER_WORDS, 0, 0, distribution_names},
    {0},
};

static json_t *plan(const json_t *asked, char *message, size_t message_size)
{
    const json_t *input, *d;
    size_t i, c;
    json_t *steps = json_array();
    (void)message;
    (void)message_size;
    json_array_foreach (json_object_get(asked, "inputs"), i, input)
        json_array_foreach (json_object_get(asked, "d"), c, d)
            json_array_append_new(steps, json_pack("{s:s, s:O, s:O, s:O, s:O, s:O}", "part",
                                                   "random", "input", input, "d", d, "keys",
                                                   json_object_get(asked, "keys"), "rows",
                                                   json_object_get(asked, "rows"), "seed",
                                                   json_object_get(asked, "seed")));
    for (size_t layer = 0; real_layers[layer].file; layer++)
        json_array_append_new(steps, json_pack("{s:s, s:s, s:s}", "part", "real", "file",
                                               real_layers[layer].file, "prefix",
                                               real_layers[layer].prefix));
    return steps;
}

/* ---- one head at all scales ------------------------------------------------------------------ */

/* Sums of rows at a scale into values; `median` is of the gradients at 1/sqrt(d). */
static json_t *values_of(const struct saturation_row *rows, size_t n, double *gradients,
                         double median)
{
    struct saturation_row sum = {0};
    size_t dead = 0;
    for (size_t i = 0; i < n; i++) {
        sum.entropy += rows[i].entropy;
        sum.largest += rows[i].largest;
        sum.jacobian += rows[i].jacobian;
        gradients[i] = rows[i].gradient;
        dead += rows[i].gradient < SATURATION_DEAD * median;
    }
    const double count = (double)n;
    stats_sort(gradients, n);
    return json_pack("{s:f, s:f, s:f, s:f, s:o, s:o, s:o, s:f}", "entropy", sum.entropy / count,
                     "effective_keys", exp(sum.entropy / count), "largest", sum.largest / count,
                     "jacobian", sum.jacobian / count, "gradient",
                     number_json(stats_median(gradients, n)), "gradient_p05",
                     number_json(stats_quantile(gradients, n, 0.05)), "gradient_p95",
                     number_json(stats_quantile(gradients, n, 0.95)), "dead", (double)dead / count);
}

static double median_gradient(const struct saturation_row *rows, size_t n, double *gradients)
{
    for (size_t i = 0; i < n; i++)
        gradients[i] = rows[i].gradient;
    return stats_median_of(gradients, n);
}

/* A row of results per scale; `params` are those that all share. */
static bool head_rows(const struct saturation_head *head, const json_t *params, json_t *result,
                      struct experiment_work *work)
{
    const size_t n = head->rows;
    struct saturation_row *rows = calloc(n * SATURATION_SCALES, sizeof *rows);
    double *gradients = calloc(n, sizeof *gradients);
    bool right = rows && gradients;
    for (size_t s = 0; right && s < SATURATION_SCALES; s++)
        right = saturation_rows(head, pow((double)head->d, scales[s].power), work->threads,
                                rows + s * n);
    const double median = right ? median_gradient(rows + SATURATION_ROOT * n, n, gradients) : NAN;
    for (size_t s = 0; right && s < SATURATION_SCALES; s++) {
        json_t *mine = json_copy((json_t *)params);
        json_object_set_new(mine, "scale", json_string(scales[s].name));
        json_array_append_new(result,
                              experiment_row(mine, values_of(rows + s * n, n, gradients, median)));
    }
    if (!right)
        snprintf(work->message, sizeof work->message, "out of memory");
    free(rows);
    free(gradients);
    return right;
}

static bool random_head(const json_t *s, json_t *result, struct experiment_work *work)
{
    const uint64_t seed = (uint64_t)json_integer_value(json_object_get(s, "seed"));
    const enum distribution input = distribution_find(experiment_text(s, "input"));
    struct saturation_head head = {
        .rows = (size_t)json_integer_value(json_object_get(s, "rows")),
        .keys = (size_t)json_integer_value(json_object_get(s, "keys")),
        .d = (size_t)json_integer_value(json_object_get(s, "d")),
    };
    float *q = calloc(head.rows * head.d, sizeof *q), *k = calloc(head.keys * head.d, sizeof *k);
    bool right = q && k;
    if (right) {
        draw_elements(input, q, head.rows * head.d, random_key(seed, STREAM_Q + head.d), 0);
        draw_elements(input, k, head.keys * head.d, random_key(seed, STREAM_K + head.d), 0);
        head.q = q;
        head.k = k;
        right = head_rows(&head, s, result, work);
    } else {
        snprintf(work->message, sizeof work->message, "out of memory");
    }
    free(q);
    free(k);
    return right;
}

static bool real_heads(const json_t *s, json_t *result, struct experiment_work *work)
{
    struct real_layer layer;
    if (!real_open(&layer, experiment_text(s, "file"), experiment_text(s, "prefix"), work->message,
                   sizeof work->message))
        return false;
    bool right = true;
    for (size_t h = 0; right && h < layer.heads; h++) {
        const size_t at = h * layer.len * layer.dim;
        const struct saturation_head head = {.q = layer.q + at,
                                             .k = layer.k + at,
                                             .rows = layer.len,
                                             .keys = layer.len,
                                             .d = layer.dim};
        json_t *params = json_copy((json_t *)s);
        json_object_set_new(params, "head", json_integer((json_int_t)h));
        json_object_set_new(params, "d", json_integer((json_int_t)layer.dim));
        json_object_set_new(params, "keys", json_integer((json_int_t)layer.len));
        right = head_rows(&head, params, result, work);
        json_decref(params);
    }
    real_close(&layer);
    return right;
}

static json_t *compute(const json_t *s, struct experiment_work *work)
{
    json_t *result = json_array();
    const bool real = strcmp(experiment_text(s, "part"), "real") == 0;
    if (real ? real_heads(s, result, work) : random_head(s, result, work))
        return result;
    json_decref(result);
    return NULL;
}

const struct experiment experiment_saturation = {
    .name = "saturation",
    .question = "At which scale and d does softmax stop letting gradients through?",
    .method =
        "Attention of random queries and keys, and of a transformer's own heads, in float64 at "
        "the\n"
        "scales 1, d^-1/4, d^-1/2 and 1/d.  Per scale: entropy, keys in use (e^entropy), largest\n"
        "weight, spectral norm of the softmax's Jacobian (means over rows), and the gradient that\n"
        "reaches a query, the root mean square over gradients N(0, I) of the weights: median over\n"
        "rows.  A row is dead where that gradient is below a thousandth of the median at d^-1/2.",
    .source = "Vaswani et al. 2017, arXiv:1706.03762, section 3.2.1",
    .parameters = parameters,
    .plan = plan,
    .compute = compute,
    .report = saturation_report,
};
