/*
 * parts: parts of experiments that are files of their own, or have known results and tests of their own.
 */
#ifndef HARNESS_EXPERIMENTS_PARTS_H
#define HARNESS_EXPERIMENTS_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "experiments/shared/kernel_call.h"

/* variance: rows of the heads of a step's layer. */
bool variance_heads(const json_t *step, json_t *rows, struct experiment_work *work);

/* rescale: blocks of n logits, except the first, that raise the maximum kept so far by more than `threshold`
 * powers of 2. */
size_t rescale_count(const float *x, size_t n, size_t block, double threshold);

/* rescale: n logits, "normal", or the same times 16 and sorted, "ascending" or "descending". */
void rescale_draw(const char *input, float *x, size_t n, uint64_t key);

/* exp-degree: polynomials 2^r = 1 + c[0] r + c[1] r^2 + ... on [-1/2, 1/2]; 2^x for -126 <= x <= 0, in
 * float32. */
#define EXP_DEGREES 8
float exp_degree_power(size_t degree, const float *c, float x);

/* exp-degree: the one through 2^r at the Chebyshev points, with a constant term of exactly 1; and its
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

/* ---- linear: y = x w with w of (d_in, d_out) --------------------------------------------------- */

/* A bare parameter matrix is stored as it is; the weight of a Linear is stored the other way round,
 * (d_out, d_in). */
enum linear_layout { LINEAR_PARAMETER, LINEAR_LINEAR, LINEAR_LAYOUTS };

struct linear_shape {
    size_t len, d_in, d_out; /* x (len, d_in), y (len, d_out) */
};

/* By the CBLAS library; by plain C, each output as the dot product of a row of x and a column of w, or
 * each row of w, times an element of x, added to a row of y.  On the thread that calls. */
typedef void linear_product(const struct linear_shape *shape, const float *x, const float *w,
                            enum linear_layout layout, float *y);
linear_product linear_gemm, linear_dot, linear_axpy;

/* Keeps BLAS calls of this process on the thread that calls. */
void linear_one_thread(void);

/* (d_in, d_out) as (d_out, d_in). */
void linear_transpose(const float *w, size_t d_in, size_t d_out, float *stored);

/* Element [i, o] of what two sums of the same d_in products can differ by: in whatever order they are
 * added, each is within n u / (1 - n u) sum |x| |w| of the exact one, u = 2^-24 (Higham 2002, Accuracy and
 * Stability of Numerical Algorithms, section 3.1).  w as a Linear stores it. */
double linear_bound(const struct linear_shape *shape, const float *x, const float *stored, size_t i,
                    size_t o);

/* Rows of a step of the part init. */
bool linear_init(const json_t *step, json_t *rows, struct experiment_work *work);

/* Tables and finding; false where the layouts differ by more than rounding explains. */
bool linear_report(const json_t *rows);

#endif
