/*
 * parts: functions of experiments that several files or tests call.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "experiments/shared/kernel_call.h"

/* variance: adds a row for each head of the step's layer. */
bool variance_heads(const json_t *step, json_t *rows, struct experiment_work *work);

/* rescale: how many blocks of the n logits exceed the maximum kept so far, of x log2(e), by more than
 * `threshold`; the first block does not count. */
size_t rescale_count(const float *x, size_t n, size_t block, double threshold);

/* rescale: draws n logits: "normal" from N(0, 1); "ascending" and "descending" are these times 16, sorted. */
void rescale_draw(const char *input, float *x, size_t n, uint64_t key);

/* exp-degree: 2^x in float32, -126 <= x <= 0, by the polynomial 2^r = 1 + c[0] r + c[1] r^2 + ... on
 * [-1/2, 1/2]. */
#define EXP_DEGREES 8
float exp_degree_power(size_t degree, const float *c, float x);

/* exp-degree: interpolates 2^r at the Chebyshev points, with a constant term of exactly 1; and the largest
 * relative error of that polynomial in float32 over [-1/2, 1/2]. */
void exp_degree_fit(size_t degree, float c[EXP_DEGREES]);
double exp_degree_error(size_t degree);

/* error-growth: sums and maxima over the elements of the output. */
struct error_growth {
    double n, sum, squares;     /* elements; sums of errors and of their squares */
    double output2, bound2;     /* sums of squares: of the exact output, of the error bound */
    double largest, over_bound; /* maxima: |error|, |error| / bound */
};

/* error-growth: compares the output of a call that was run with float64; false if memory runs out. */
bool error_growth_judge(const struct kernel_call *call, struct experiment_work *work,
                        struct error_growth *errors);

/* ---- linear: y = x w with w of (d_in, d_out) --------------------------------------------------- */

/* A bare parameter is stored as (d_in, d_out), the weight of torch.nn.Linear as (d_out, d_in). */
enum linear_layout { LINEAR_PARAMETER, LINEAR_LINEAR, LINEAR_LAYOUTS };

struct linear_shape {
    size_t len, d_in, d_out; /* x (len, d_in), y (len, d_out) */
};

/* Three products, on the calling thread: by CBLAS; each output as a dot product; each row of y as a sum of
 * rows of w times elements of x. */
typedef void linear_product(const struct linear_shape *shape, const float *x, const float *w,
                            enum linear_layout layout, float *y);
linear_product linear_gemm, linear_dot, linear_axpy;

/* Makes BLAS calls of this process use the calling thread alone. */
void linear_one_thread(void);

/* Transposes w, (d_in, d_out), into stored, (d_out, d_in). */
void linear_transpose(const float *w, size_t d_in, size_t d_out, float *stored);

/* The most by which y[i, o] can differ between two orders of summation: any order is within
 * n u / (1 - n u) sum |x| |w| of the exact sum, n = d_in, u = 2^-24 (Higham 2002, Accuracy and Stability of
 * Numerical Algorithms, section 3.1).  stored: w as (d_out, d_in). */
double linear_bound(const struct linear_shape *shape, const float *x, const float *stored, size_t i,
                    size_t o);

/* Adds the rows of a step of the part init. */
bool linear_init(const json_t *step, json_t *rows, struct experiment_work *work);

/* Prints tables and the finding; false if the layouts differ by more than rounding explains. */
bool linear_report(const json_t *rows);
