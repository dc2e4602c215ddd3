/*
 * rescale: how often an online softmax finds a new maximum, and what that costs.
 *
 * An online softmax keeps the maximum of the keys seen so far.  A block of keys with a higher one
 * makes it rescale its sum and its output row; a lazy one does so only where the maximum grew by
 * more than a threshold, and lets weights exceed 1 until then.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiments/experiment.h"
#include "experiments/shared/kernel_call.h"
#include "experiments/list.h"
#include "experiments/shared/real.h"
#include "rescale.h"
#include "base/number.h"
#include "base/random.h"

#define STREAM 10000
#define LOG2_E 1.4426950408889634

static const char *const inputs[] = {"normal", "ascending", "descending", NULL};

static const struct parameter parameters[] = {
    {"s", "N", "4096", "1024", "keys of a random row", PARAMETER_COUNT, 2, 1 << 20, NULL},
    {"rows", "N", "200", "50", "random rows", PARAMETER_COUNT, 1, 1e6, NULL},
    {"blocks", "LIST", "1,16,64,128,256", NULL, "keys that are taken together", PARAMETER_COUNTS, 1,
     65536, NULL},
    {"thresholds", "LIST", "0,1,4,8", NULL,
     "growth of the maximum, as a power of 2, that is tolerated", PARAMETER_NUMBERS, 0, 64, NULL},
    {"inputs", "LIST", "normal,ascending,descending", NULL,
     "N(0, 1) logits, or the same times 16 and sorted", PARAMETER_WORDS, 0, 0, inputs},
    {"rounds", "N", "30", "10", "timings of each order of keys, in turns", PARAMETER_COUNT, 6,
     10000, NULL},
    {0},
};

static json_t *plan(const json_t *asked, char *message, size_t message_size)
{
    static const char *const timed[] = {"online", "gemm", "split_kv", "flash"};
    const json_t *input;
    size_t i;
    json_t *steps = json_array();
    (void)message;
    (void)message_size;
    json_array_foreach (json_object_get(asked, "inputs"), i, input) {
        json_t *s = json_copy((json_t *)asked);
        json_object_set_new(s, "part", json_string("count"));
        json_object_set(s, "input", (json_t *)input);
        json_array_append_new(steps, s);
    }
    for (size_t layer = 0; real_layers[layer].file; layer++) {
        json_t *s = json_copy((json_t *)asked);
        json_object_set_new(s, "part", json_string("count"));
        json_object_set_new(s, "file", json_string(real_layers[layer].file));
        json_object_set_new(s, "prefix", json_string(real_layers[layer].prefix));
        json_array_append_new(steps, s);
    }
    for (size_t k = 0; k < sizeof timed / sizeof *timed; k++) {
        json_t *s = json_copy((json_t *)asked);
        json_object_set_new(s, "part", json_string("time"));
        json_object_set_new(s, "kernel", json_string(timed[k]));
        json_array_append_new(steps, s);
    }
    return steps;
}

/* ---- counting -------------------------------------------------------------------------------- */

size_t rescale_count(const float *x, size_t n, size_t block, double threshold)
{
    double m = -INFINITY;
    size_t count = 0;
    for (size_t j = 0; j < n; j += block) {
        double highest = -INFINITY;
        for (size_t k = j; k < n && k < j + block; k++)
            highest = fmax(highest, (double)x[k] * LOG2_E);
        if (highest > m + threshold || j == 0) {
            count += j > 0;
            m = highest;
        }
    }
    return count;
}

static int compare_floats(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

void rescale_draw(const char *input, float *x, size_t n, uint64_t key)
{
    random_normal(x, n, key, 0);
    if (strcmp(input, "normal") == 0)
        return;
    qsort(x, n, sizeof *x, compare_floats);
    for (size_t j = 0; j < n; j++)
        x[j] *= 16;
    for (size_t j = 0; strcmp(input, "descending") == 0 && j < n / 2; j++) {
        const float last = x[n - 1 - j];
        x[n - 1 - j] = x[j];
        x[j] = last;
    }
}

/* Scaled logits of all rows of a real layer, or random ones; free() them. */
static float *logits_of(const json_t *s, size_t *rows, size_t *keys, struct experiment_work *work)
{
    const char *file = experiment_text(s, "file");
    struct real_layer layer = {0};
    *rows = (size_t)json_integer_value(json_object_get(s, "rows"));
    *keys = (size_t)json_integer_value(json_object_get(s, "s"));
    if (*file &&
        !real_open(&layer, file, experiment_text(s, "prefix"), work->message, sizeof work->message))
        return NULL;
    if (*file) {
        *rows = layer.heads * layer.len;
        *keys = layer.len;
    }
    const uint64_t seed = (uint64_t)json_integer_value(json_object_get(s, "seed"));
    float *x = calloc(*rows * *keys, sizeof *x);
    for (size_t r = 0; x && r < *rows; r++) {
        if (!*file) {
            rescale_draw(experiment_text(s, "input"), x + r * *keys, *keys,
                         random_key(seed, STREAM + r));
            continue;
        }
        const float *k = layer.k + r / layer.len * layer.len * layer.dim;
        for (size_t j = 0; j < *keys; j++) {
            double dot = 0;
            for (size_t d = 0; d < layer.dim; d++)
                dot += (double)layer.q[r * layer.dim + d] * (double)k[j * layer.dim + d];
            x[r * *keys + j] = (float)(dot / sqrt((double)layer.dim));
        }
    }
    real_close(&layer);
    if (!x)
        snprintf(work->message, sizeof work->message, "out of memory");
    return x;
}

static json_t *count_row(const json_t *s, const float *x, size_t rows, size_t keys, size_t block,
                         double threshold)
{
    const char *file = experiment_text(s, "file");
    const size_t chances = (keys + block - 1) / block - 1;
    size_t total = 0;
    for (size_t r = 0; r < rows; r++)
        total += rescale_count(x + r * keys, keys, block, threshold);
    const double mean = (double)total / (double)rows;
    json_t *params = json_pack("{s:s, s:s, s:I, s:I, s:I, s:f}", "part", "count", "input",
                               *file ? experiment_text(s, "prefix") : experiment_text(s, "input"),
                               "s", (json_int_t)keys, "rows", (json_int_t)rows, "block",
                               (json_int_t)block, "threshold", threshold);
    if (!*file)
        json_object_set(params, "seed", json_object_get(s, "seed"));
    return experiment_row(params, json_pack("{s:f, s:o}", "rescales", mean, "share",
                                            number_json(mean / (double)chances)));
}

static json_t *compute_counts(const json_t *s, struct experiment_work *work)
{
    size_t rows, keys, b, t;
    const json_t *block, *threshold;
    float *x = logits_of(s, &rows, &keys, work);
    if (!x)
        return NULL;
    json_t *result = json_array();
    json_array_foreach (json_object_get(s, "blocks"), b, block)
        json_array_foreach (json_object_get(s, "thresholds"), t, threshold)
            if ((size_t)json_integer_value(block) < keys)
                json_array_append_new(result,
                                      count_row(s, x, rows, keys, (size_t)json_integer_value(block),
                                                json_number_value(threshold)));
    free(x);
    return result;
}

static json_t *compute(const json_t *s, struct experiment_work *work)
{
    const bool time = strcmp(experiment_text(s, "part"), "time") == 0;
    return time ? rescale_time(s, work) : compute_counts(s, work);
}

const struct experiment experiment_rescale = {
    .name = "rescale",
    .question = "How often does an online softmax find a new maximum, and what does that cost?",
    .method =
        "Counts over rows of logits how many blocks of keys raise the maximum by more than a\n"
        "threshold (a power of 2; 0: at all), for N(0, 1) logits, for sorted ones (ascending: the\n"
        "worst order, descending: the best) and for a transformer's own heads.  Then times "
        "kernels\n"
        "on one thread with keys in ascending and in random against descending order, in turns: "
        "the\n"
        "median ratio and its exact 95 % interval.",
    .source =
        "Milakov and Gimelshein 2018, arXiv:1805.02867; Zadouri et al. 2026, arXiv:2603.05451\n"
        "(the lazy threshold)",
    .parameters = parameters,
    .plan = plan,
    .compute = compute,
    .report = rescale_report,
};
