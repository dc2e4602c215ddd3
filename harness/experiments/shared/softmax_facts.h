/*
 * softmax_facts: how peaked a row of weights is, and how much of a gradient it lets through.
 */
#ifndef HARNESS_EXPERIMENTS_SHARED_SOFTMAX_FACTS_H
#define HARNESS_EXPERIMENTS_SHARED_SOFTMAX_FACTS_H

#include <stddef.h>

/*
 * Of p = softmax(x), whose Jacobian is J = diag(p) - p p^T:
 *   entropy     in nats; e^entropy keys are in use
 *   jacobian    the spectral norm of J, at most 1/2
 *   frobenius   its Frobenius norm: the root mean square of |J g| over g ~ N(0, I)
 * Each is computed so that it keeps its precision where one weight is 1 up to rounding.
 */
struct softmax_facts {
    double entropy, largest, jacobian, frobenius;
    size_t top; /* index of the largest weight */
};

/* x of n logits; p receives the weights. */
struct softmax_facts softmax_facts(const double *x, size_t n, double *p);

#endif
