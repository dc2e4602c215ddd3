/*
 * saturation: the parts of the experiment of that name.
 */
#ifndef HARNESS_EXPERIMENTS_SATURATION_SATURATION_H
#define HARNESS_EXPERIMENTS_SATURATION_SATURATION_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Queries and keys of one head, row-major, d elements a row. */
struct saturation_head {
    const float *q, *k;
    size_t rows, keys, d;
};

/* What one row of attention does at a scale. */
struct saturation_row {
    double entropy, largest, jacobian, gradient;
};

/*
 * All rows of a head at a scale.  `gradient` is the root mean square of the gradient that reaches q
 * from gradients N(0, I) of the weights: with s = scale q K^T and J the softmax's Jacobian it is
 *   scale ||K^T J||_F = scale sqrt(sum_j p_j^2 |k_j - sum_i p_i k_i|^2).
 * False if memory runs out.
 */
bool saturation_rows(const struct saturation_head *head, double scale, int threads,
                     struct saturation_row *rows);

/* How many scales are compared; the index of 1/sqrt(d) among them. */
#define SATURATION_SCALES 4
#define SATURATION_ROOT 2

/* A row whose gradient is below this share of the median at 1/sqrt(d) does not learn. */
#define SATURATION_DEAD 1e-3

/* Tables and finding. */
bool saturation_report(const json_t *rows);

#endif
