/*
 * softmax_facts: formulas that take 1 - p of the largest weight as the sum of the others.
 */
#include "softmax_facts.h"

#include <math.h>

#include "experiments/experiment.h"
#include "kernel_call.h"

/* Computes weights and *rest, their sum without the largest; returns the entropy, log l - sum p (x - m). */
static double weigh(const double *x, size_t n, double *p, size_t *top, double *rest)
{
    double l = 0, mean = 0;
    *top = 0;
    for (size_t j = 1; j < n; j++)
        if (x[j] > x[*top])
            *top = j;
    for (size_t j = 0; j < n; j++) {
        p[j] = exp(x[j] - x[*top]);
        l += j == *top ? 0 : p[j];
    }
    for (size_t j = 0; j < n; j++) {
        p[j] /= 1 + l;
        mean += p[j] * (x[j] - x[*top]);
    }
    *rest = l / (1 + l);
    return log1p(l) - mean;
}

/*
 * The largest eigenvalue of diag(p) - p p^T lies between the two largest weights and is the zero of
 * g(t) = sum p / (p - t), which rises there (Golub 1973, on matrices modified by rank one).
 */
static double spectral(const double *p, size_t n, size_t top)
{
    double lo = 0, hi = p[top];
    for (size_t j = 0; j < n; j++)
        if (j != top && p[j] > lo)
            lo = p[j];
    for (int i = 0; i < 200 && lo > 0 && hi > lo * (1 + 1e-14); i++) {
        const double t = hi > 2 * lo ? sqrt(lo * hi) : (lo + hi) / 2;
        double g = 0;
        for (size_t j = 0; j < n; j++)
            g += p[j] / (p[j] - t);
        *(g > 0 ? &hi : &lo) = t;
    }
    return lo;
}

struct softmax_facts softmax_facts(const double *x, size_t n, double *p)
{
    struct softmax_facts facts = {0};
    double rest, squares = 0, sum = 0;
    facts.entropy = weigh(x, n, p, &facts.top, &rest);
    facts.largest = p[facts.top];
    for (size_t j = 0; j < n; j++)
        squares += j == facts.top ? 0 : p[j] * p[j];
    const double top2 = facts.largest * facts.largest;
    for (size_t j = 0; j < n; j++) {
        const double p2 = p[j] * p[j];
        sum += j == facts.top ? p2 * (rest * rest + squares)
                              : p2 * ((1 - p[j]) * (1 - p[j]) + squares + top2 - p2);
    }
    facts.frobenius = sqrt(sum);
    facts.jacobian = spectral(p, n, facts.top);
    return facts;
}

/* ---- rows of a head -------------------------------------------------------------------------- */

/* sum_j p_j^2 |k_j - mean|^2 with keys relative to the top key, so that the other keys' terms keep their
 * precision if its weight rounds to 1.  `mean` is scratch of d elements. */
static double spread(const struct softmax_head *head, const double *p, size_t top, double *mean)
{
    const float *k_top = head->k + top * head->d;
    double sum = 0;
    for (size_t e = 0; e < head->d; e++)
        mean[e] = 0;
    for (size_t j = 0; j < head->keys; j++)
        for (size_t e = 0; p[j] > 0 && e < head->d; e++)
            mean[e] += p[j] * ((double)head->k[j * head->d + e] - (double)k_top[e]);
    for (size_t j = 0; j < head->keys; j++) {
        double distance2 = 0;
        for (size_t e = 0; p[j] > 0 && e < head->d; e++) {
            const double x = ((double)head->k[j * head->d + e] - (double)k_top[e]) - mean[e];
            distance2 += x * x;
        }
        sum += p[j] * p[j] * distance2;
    }
    return sum;
}

struct scaled_head {
    const struct softmax_head *head;
    double scale;
    struct softmax_facts_row *rows;
};

/* Facts about row i; scratch has 2 * keys + d elements. */
static void one_row(void *context, size_t i, void *scratch)
{
    const struct scaled_head *s = context;
    const struct softmax_head *h = s->head;
    double *x = scratch, *p = x + h->keys, *mean = p + h->keys;
    for (size_t j = 0; j < h->keys; j++)
        x[j] = s->scale * kernel_call_dot(h->q + i * h->d, h->k + j * h->d, h->d);
    const struct softmax_facts facts = softmax_facts(x, h->keys, p);
    s->rows[i] = (struct softmax_facts_row){facts.entropy, facts.largest, facts.jacobian,
                                            fabs(s->scale) * sqrt(spread(h, p, facts.top, mean))};
}

bool softmax_facts_rows(const struct softmax_head *head, double scale, int threads,
                        struct softmax_facts_row *rows)
{
    struct scaled_head s = {head, scale, rows};
    return experiment_blocks(head->rows, threads, (2 * head->keys + head->d) * sizeof(double),
                             one_row, &s);
}
