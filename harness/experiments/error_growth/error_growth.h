/*
 * error_growth: the parts of the experiment error-growth.
 */
#ifndef HARNESS_EXPERIMENTS_ERROR_GROWTH_ERROR_GROWTH_H
#define HARNESS_EXPERIMENTS_ERROR_GROWTH_ERROR_GROWTH_H

#include <jansson.h>

#include "experiments/shared/kernel_call.h"

/* Sums over elements of the output; the largest of each. */
struct error_growth {
    double n, sum, squares; /* of errors */
    double output2, bound2; /* squares of the exact output and of its bound */
    double largest, over_bound;
};

/* Errors of a call that was run, against float64; false if memory runs out. */
bool error_growth_judge(const struct kernel_call *call, int threads, struct error_growth *errors);

/* Tables and finding; false where an error is beyond its bound. */
bool error_growth_report(const json_t *rows);

#endif
