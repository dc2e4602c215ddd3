/*
 * causal: a printed causal softmax from its printed scores, with the mask as a rule of the kernel and as
 * the notebook has it: a matrix of 0 and -inf that is added to the scores.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "examples.h"
#include "experiments/shared/kernel_call.h"
#include "experiments/shared/kernel_weights.h"
#include "experiments/shared/published.h"
#include "experiments/shared/softmax_facts.h"

#define MOST 16 /* rows */

/* Scores: a row has those of the keys that it sees, then 0. */
static size_t take_scores(const json_t *published, double x[MOST * MOST])
{
    const json_t *scores = json_object_get(published, "scaled_scores");
    const size_t n = json_array_size(scores);
    if (n > MOST)
        return 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            const json_t *value = json_array_get(json_array_get(scores, i), j);
            x[i * n + j] = value ? json_number_value(value) : 0;
        }
    return n;
}

static void by_definition(const double *x, size_t n, double *p)
{
    memset(p, 0, n * n * sizeof *p);
    for (size_t i = 0; i < n; i++)
        softmax_facts(x + i * n, i + 1, p + i * n);
}

/* Query i is unit vector i, so that dimension i of key j is the score. */
static bool by_kernel(const char *kernel, unsigned mask, const double *x, size_t n, double *p,
                      struct experiment_work *work)
{
    float q[MOST * MOST] = {0}, k[MOST * MOST], added[MOST * MOST];
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

/* The printed weights by masks that are operands, where the kernel takes them. */
static bool by_operands(json_t *rows, const char *example, const char *kernel, const double *x,
                        size_t n, const json_t *published, struct experiment_work *work)
{
    static const struct {
        unsigned mask;
        const char *property;
    } masks[] = {{ATTN_MASK_BIAS, "weights as printed, -inf added to the scores"},
                 {ATTN_MASK_BOOL, "weights as printed, by a boolean mask"}};
    double p[MOST * MOST];
    for (size_t m = 0; m < 2; m++) {
        if (!kernel_weights_takes(kernel, masks[m].mask))
            continue;
        if (!by_kernel(kernel, masks[m].mask, x, n, p, work))
            return false;
        const double off = examples_difference(p, n, n, published), hidden = above(p, n);
        const double worst = hidden > off ? hidden : off; /* NaN stays */
        json_array_append_new(
            rows, examples_property(example, masks[m].property, kernel, worst, EXAMPLES_FLOAT32));
    }
    return true;
}

bool examples_causal(const json_t *s, json_t *rows, struct experiment_work *work)
{
    const char *name = experiment_text(s, "example");
    json_t *published = published_load(name, work->message, sizeof work->message);
    double x[MOST * MOST], p[MOST * MOST];
    const size_t n = published ? take_scores(published, x) : 0;
    bool right = n > 0;
    if (published && !right)
        snprintf(work->message, sizeof work->message, "%s is too large", name);
    const json_t *weights = json_object_get(published, "weights");
    const char *const *kernels = kernel_call_names();
    if (right) {
        by_definition(x, n, p);
        json_array_append_new(rows, examples_row(name, "weights", "definition", p, n, n, weights,
                                                 EXAMPLES_EIGHT_DIGITS, 8));
    }
    for (size_t i = 0; right && kernels[i]; i++) {
        right = by_kernel(kernels[i], ATTN_MASK_CAUSAL, x, n, p, work);
        if (!right)
            break;
        json_array_append_new(
            rows, examples_row(name, "weights", kernels[i], p, n, n, weights, EXAMPLES_FLOAT32, 8));
        json_array_append_new(rows, examples_property(name, "weights above the diagonal are 0",
                                                      kernels[i], above(p, n), 0));
        right = by_operands(rows, name, kernels[i], x, n, weights, work);
    }
    json_decref(published);
    return right;
}
