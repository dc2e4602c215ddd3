/*
 * variance_heads: the variance of the logits of a transformer's heads.
 */
#include <math.h>

#include "experiments/shared/layer_heads.h"
#include "experiments/shared/moments.h"
#include "parts.h"

/* A head's q and k, and scratch: for each token the sums of x and x^2 over logits x of its row and column. */
struct head {
    const float *q, *k;
    size_t tokens, d;
    double *sum, *square;
};

static double variance_of(double sum, double square, double n)
{
    return square / n - sum / n * (sum / n);
}

/*
 * Variance of all logits, and half the width of its interval, by a jackknife: a text is one sample of tokens,
 * each token has a row and a column of logits, and each token is left out in turn.  It treats tokens as
 * independent, which neighbours in a text are not quite.
 */
static double jackknife(const struct head *h, double *half)
{
    const double n = (double)h->tokens;
    double sum = 0, square = 0, mean = 0, spread = 0;
    for (size_t i = 0; i < h->tokens; i++)
        h->sum[i] = h->square[i] = 0;
    for (size_t i = 0; i < h->tokens; i++)
        for (size_t j = 0; j < h->tokens; j++) {
            const double x = kernel_call_dot(h->q + i * h->d, h->k + j * h->d, h->d);
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
    *half = MOMENTS_NORMAL_975 * sqrt((n - 1) / n * spread);
    return variance_of(sum, square, n * n);
}

/* The variance if a head's dimensions were independent: the sum over d of the variance of q_d k_d over all
 * pairs of tokens. */
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

bool variance_heads(const json_t *s, json_t *rows, struct experiment_work *work)
{
    struct layer_heads l;
    double *scratch, half;
    if (!layer_heads_open(&l, member_text(s, "file"), member_text(s, "prefix"), work) ||
        !(scratch = experiment_alloc(work, 2 * l.len, sizeof *scratch)))
        return false;
    for (size_t h = 0; h < l.heads; h++) {
        const size_t at = h * l.len * l.dim;
        const struct head head = {l.q + at, l.k + at, l.len, l.dim, scratch, scratch + l.len};
        const double variance = jackknife(&head, &half), theory = independent(&head);
        const double d = (double)l.dim, lo = variance - half, hi = variance + half;
        json_t *values = experiment_values((struct experiment_value[]){
            {"variance", variance},
            {"scaled", variance / d},
            {"independent", theory},
            {"scaled_independent", theory / d},
            {0},
        });
        json_object_set_new(values, "ci95", experiment_range(lo, hi));
        json_object_set_new(values, "scaled_ci95", experiment_range(lo / d, hi / d));
        experiment_add(rows, layer_heads_params(s, &l, h, "tokens"), values);
    }
    return true;
}
