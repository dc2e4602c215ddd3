/*
 * exp_degree: the parts of the experiment exp-degree.
 */
#ifndef HARNESS_EXPERIMENTS_EXP_DEGREE_EXP_DEGREE_H
#define HARNESS_EXPERIMENTS_EXP_DEGREE_EXP_DEGREE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "attention.h"

#define EXP_DEGREES 8 /* polynomials of degree 1 to 8 */

/* 2^x by a polynomial, for one ISA: y[i] = 2^x[i] for -126 <= x[i] <= 0, n a multiple of 16.
 * 2^r = 1 + c[0] r + c[1] r^2 + ... on [-1/2, 1/2], `degree` coefficients. */
struct exp_lanes {
    enum attn_isa isa;
    void (*run)(size_t degree, const float *c, const float *x, float *y, size_t n);
};
extern const struct exp_lanes *const exp_variants[];
extern const size_t exp_variant_count;
const struct exp_lanes *exp_best(void);

/* The polynomial through 2^r at the Chebyshev points, with a constant term of exactly 1. */
void exp_degree_fit(size_t degree, float c[EXP_DEGREES]);

/* Largest relative error over [-1/2, 1/2], computed in float32, against float64. */
double exp_degree_error(size_t degree);

/* Tables and finding. */
bool exp_degree_report(const json_t *rows);

#endif
