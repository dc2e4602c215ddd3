/*
 * rows: weights in float64 and the gradient that they let through.
 */
#include "saturation.h"

#include <math.h>
#include <stdlib.h>

#include "experiments/shared/softmax_facts.h"

/* sum_j p_j^2 |k_j - mean|^2 with everything relative to the top key, so that the other keys' terms
 * keep their precision where its weight is 1 up to rounding.  `mean` is scratch of d elements. */
static double spread(const struct saturation_head *head, const double *p, size_t top, double *mean)
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

static void one_row(const struct saturation_head *head, size_t i, double scale, double *x,
                    struct saturation_row *row)
{
    double *p = x + head->keys, *mean = p + head->keys;
    for (size_t j = 0; j < head->keys; j++) {
        double dot = 0;
        for (size_t e = 0; e < head->d; e++)
            dot += (double)head->q[i * head->d + e] * (double)head->k[j * head->d + e];
        x[j] = scale * dot;
    }
    const struct softmax_facts facts = softmax_facts(x, head->keys, p);
    *row = (struct saturation_row){facts.entropy, facts.largest, facts.jacobian,
                                   fabs(scale) * sqrt(spread(head, p, facts.top, mean))};
}

bool saturation_rows(const struct saturation_head *head, double scale, int threads,
                     struct saturation_row *rows)
{
    bool allocated = true;
#pragma omp parallel num_threads(threads)
    {
        double *x = calloc(2 * head->keys + head->d, sizeof *x);
        if (!x) {
#pragma omp atomic write
            allocated = false;
        }
#pragma omp for schedule(dynamic, 1)
        for (size_t i = 0; i < head->rows; i++)
            if (x)
                one_row(head, i, scale, x, &rows[i]);
        free(x);
    }
    return allocated;
}
