/*
 * parts: of experiments, what can be known beforehand and is tested by itself.
 */
#ifndef HARNESS_EXPERIMENTS_PARTS_H
#define HARNESS_EXPERIMENTS_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "exp_lanes.h"
#include "experiments/shared/kernel_call.h"

/* rescale: blocks of n logits, except the first, that raise the maximum kept so far by more than `threshold`
 * powers of 2. */
size_t rescale_count(const float *x, size_t n, size_t block, double threshold);

/* rescale: n logits, "normal", or the same times 16 and sorted, "ascending" or "descending". */
void rescale_draw(const char *input, float *x, size_t n, uint64_t key);

/* exp-degree: the polynomial through 2^r at the Chebyshev points, with a constant term of exactly 1; and its
 * largest relative error over [-1/2, 1/2], computed in float32, against float64. */
void exp_degree_fit(size_t degree, float c[EXP_DEGREES]);
double exp_degree_error(size_t degree);

/* error-growth: sums over elements of the output; the largest of each. */
struct error_growth {
    double n, sum, squares; /* of errors */
    double output2, bound2; /* squares of the exact output and of its bound */
    double largest, over_bound;
};

/* error-growth: errors of a call that was run, against float64; false if memory runs out. */
bool error_growth_judge(const struct kernel_call *call, struct experiment_work *work,
                        struct error_growth *errors);

#endif
