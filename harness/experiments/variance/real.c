/*
 * real: the logits of a transformer's own heads.
 *
 * A text is one sample of tokens, and each token is in a row and in a column of logits.  How far the
 * variance of all of them may be from that of the model is estimated by leaving out each token in
 * turn (jackknife), as if tokens were independent, which neighbours in a text are not quite.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "experiments/experiment.h"
#include "experiments/shared/real.h"
#include "variance.h"
#include "base/number.h"

#define NORMAL_975 1.959963985 /* quantile 0.975 of N(0, 1) */

/* One head: q and k of its tokens, and scratch for the sums of x and x^2 that each token is in. */
struct head {
    const float *q, *k;
    size_t tokens, d;
    double *sum, *square;
};

static double dot(const struct head *h, size_t i, size_t j)
{
    double sum = 0;
    for (size_t d = 0; d < h->d; d++)
        sum += (double)h->q[i * h->d + d] * (double)h->k[j * h->d + d];
    return sum;
}

static double variance_of(double sum, double square, double n)
{
    return square / n - sum / n * (sum / n);
}

/* Variance of all logits, and half of its interval. */
static double jackknife(const struct head *h, double *half)
{
    const double n = (double)h->tokens;
    double sum = 0, square = 0, mean = 0, spread = 0;
    for (size_t i = 0; i < h->tokens; i++)
        h->sum[i] = h->square[i] = 0;
    for (size_t i = 0; i < h->tokens; i++)
        for (size_t j = 0; j < h->tokens; j++) {
            const double x = dot(h, i, j);
            sum += x;
            square += x * x;
            h->sum[i] += x;
            h->square[i] += x * x;
            if (i == j)
                continue;
            h->sum[j] += x;
            h->square[j] += x * x;
        }
    for (size_t t = 0; t < h->tokens; t++) {
        const double without =
            variance_of(sum - h->sum[t], square - h->square[t], (n - 1) * (n - 1));
        mean += without / n;
        h->sum[t] = without;
    }
    for (size_t t = 0; t < h->tokens; t++)
        spread += (h->sum[t] - mean) * (h->sum[t] - mean);
    *half = NORMAL_975 * sqrt((n - 1) / n * spread);
    return variance_of(sum, square, n * n);
}

/* What the variance would be if a head's dimensions were independent: the sum of the variances of
 * q_d k_d over all pairs of tokens. */
static double independent(const struct head *h)
{
    const double n = (double)h->tokens;
    double total = 0;
    for (size_t d = 0; d < h->d; d++) {
        double q = 0, q2 = 0, k = 0, k2 = 0;
        for (size_t i = 0; i < h->tokens; i++) {
            const double a = (double)h->q[i * h->d + d], b = (double)h->k[i * h->d + d];
            q += a / n;
            q2 += a * a / n;
            k += b / n;
            k2 += b * b / n;
        }
        total += q2 * k2 - q * q * k * k;
    }
    return total;
}

static json_t *row_of(const json_t *step, size_t index, const struct head *h)
{
    double half;
    const double variance = jackknife(h, &half), d = (double)h->d, theory = independent(h);
    const double raw[] = {variance - half, variance + half};
    const double scaled[] = {raw[0] / d, raw[1] / d};
    json_t *params = json_copy((json_t *)step);
    json_object_set_new(params, "head", json_integer((json_int_t)index));
    json_object_set_new(params, "d", json_integer((json_int_t)h->d));
    json_object_set_new(params, "tokens", json_integer((json_int_t)h->tokens));
    return experiment_row(
        params, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "variance", number_json(variance),
                          "ci95", experiment_numbers(raw, 2), "scaled", number_json(variance / d),
                          "scaled_ci95", experiment_numbers(scaled, 2), "independent",
                          number_json(theory), "scaled_independent", number_json(theory / d)));
}

json_t *variance_real_rows(const json_t *step, struct experiment_work *work)
{
    struct real_layer layer;
    if (!real_open(&layer, experiment_text(step, "file"), experiment_text(step, "prefix"),
                   work->message, sizeof work->message))
        return NULL;
    double *scratch = calloc(2 * layer.len, sizeof *scratch);
    json_t *rows = scratch ? json_array() : NULL;
    for (size_t h = 0; rows && h < layer.heads; h++) {
        const size_t at = h * layer.len * layer.dim;
        const struct head head = {.q = layer.q + at,
                                  .k = layer.k + at,
                                  .tokens = layer.len,
                                  .d = layer.dim,
                                  .sum = scratch,
                                  .square = scratch + layer.len};
        json_array_append_new(rows, row_of(step, h, &head));
    }
    if (!rows)
        snprintf(work->message, sizeof work->message, "out of memory");
    free(scratch);
    real_close(&layer);
    return rows;
}
