/*
 * linear: the two ways in which notebooks write a layer, x @ W with bare parameters and nn.Linear.
 *
 * Both compute y = x w with w of (d_in, d_out).  A bare parameter matrix is stored as it is; the weight
 * of a Linear is stored the other way round, (d_out, d_in).
 */
#ifndef HARNESS_EXPERIMENTS_LINEAR_LINEAR_H
#define HARNESS_EXPERIMENTS_LINEAR_LINEAR_H

#include <stdbool.h>
#include <stddef.h>

#include "experiments/experiment.h"

enum linear_layout { LINEAR_PARAMETER, LINEAR_LINEAR, LINEAR_LAYOUTS };

struct linear_shape {
    size_t len, d_in, d_out; /* x (len, d_in), y (len, d_out) */
};

/* A way to compute the product, the same code for both layouts. */
struct linear_way {
    const char *name;
    void (*run)(const struct linear_shape *shape, const float *x, const float *w,
                enum linear_layout layout, float *y);
    bool loop; /* plain C */
};

/* gemm first; the last has a NULL name.  On the thread that calls. */
extern const struct linear_way linear_ways[];

/* Products of a shape up to which plain loops take part: 2^24, of which the slowest take 0.14 s (Zen 4). */
#define LINEAR_MOST ((size_t)1 << 24)
bool linear_takes(const struct linear_way *way, const struct linear_shape *shape);

/* Keeps BLAS calls of this process on the thread that calls. */
void linear_one_thread(void);

/* (d_in, d_out) as (d_out, d_in). */
void linear_transpose(const float *w, size_t d_in, size_t d_out, float *stored);

/* Element [i, o] of what two sums of the same d_in products can differ by: in whatever order they are
 * added, each is within n u / (1 - n u) sum |x| |w| of the exact one, u = 2^-24 (Higham 2002, Accuracy and
 * Stability of Numerical Algorithms, section 3.1).  w as a Linear stores it. */
double linear_bound(const struct linear_shape *shape, const float *x, const float *stored, size_t i,
                    size_t o);

/* Rows of a step of each part; NULL fills work->message. */
json_t *linear_time(const json_t *step, struct experiment_work *work);
json_t *linear_equal(const json_t *step, struct experiment_work *work);
json_t *linear_init(const json_t *step, struct experiment_work *work);

/* Tables and finding; false where the layouts differ by more than rounding explains. */
bool linear_report(const json_t *rows);

#endif
