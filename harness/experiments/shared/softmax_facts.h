/*
 * softmax_facts: how peaked a row of weights is, and how much gradient passes through it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Facts about p = softmax(x) with Jacobian J = diag(p) - p p^T:
 *   entropy     in nats; e^entropy keys are in use
 *   jacobian    the spectral norm of J, at most 1/2
 *   frobenius   its Frobenius norm: the root mean square of |J g| over g ~ N(0, I)
 * Each keeps its precision if one weight rounds to 1.
 */
struct softmax_facts {
    double entropy, largest, jacobian, frobenius;
    size_t top; /* index of the largest weight */
};

/* Facts about n logits x; p receives the weights. */
struct softmax_facts softmax_facts(const double *x, size_t n, double *p);

/* Queries (rows, d) and keys (keys, d) of one head. */
struct softmax_head {
    const float *q, *k;
    size_t rows, keys, d;
};

/* Facts about one row of attention at a scale. */
struct softmax_facts_row {
    double entropy, largest, jacobian, gradient;
};

/*
 * All rows of a head at a scale.  `gradient` is the root mean square of q's gradient for gradients N(0, I) of
 * the weights: with s = scale q K^T and J the softmax's Jacobian it is
 *   scale ||K^T J||_F = scale sqrt(sum_j p_j^2 |k_j - sum_i p_i k_i|^2).
 * False if memory runs out.
 */
bool softmax_facts_rows(const struct softmax_head *head, double scale, int threads,
                        struct softmax_facts_row *rows);
