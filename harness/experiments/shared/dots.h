/*
 * dots: inner products q.k of random vectors, as many as wanted, for one ISA.
 *
 * Each lane of a vector is a trial of its own with its own generator, so that a trial's numbers
 * depend on neither the width of vectors nor the number of threads.
 */
#ifndef HARNESS_EXPERIMENTS_SHARED_DOTS_H
#define HARNESS_EXPERIMENTS_SHARED_DOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attention.h"

/* Distributions of the independent elements of q and k. */
enum distribution {
    DISTRIBUTION_NORMAL,     /* N(0, 1) */
    DISTRIBUTION_UNIFORM,    /* U(-1, 1) */
    DISTRIBUTION_RADEMACHER, /* -1 or 1 */
    DISTRIBUTION_HEAVY,      /* Student's t, 5 degrees of freedom: no moments from the fifth on */
    DISTRIBUTION_COUNT
};

/* Its exact moments. */
struct distribution_facts {
    const char *name;
    double variance, fourth; /* E x^2, E x^4 */
};
extern const struct distribution_facts distributions[DISTRIBUTION_COUNT];

/* The names, the last NULL; the distribution of a name, DISTRIBUTION_COUNT where there is none. */
extern const char *const distribution_names[];
enum distribution distribution_find(const char *name);

/* Elements [first, first + n) of a stream, independent of each other. */
void distribution_draw(enum distribution distribution, float *x, size_t n, uint64_t key,
                       uint64_t first);

#define DOTS_TRIALS ((size_t)64) /* of one call, a multiple of any vector's lanes */

struct dots {
    enum attn_isa isa;

    /* q.k over the first dims[c] dimensions of trials [first, first + DOTS_TRIALS) of a stream, for
     * each of `count` ascending dims, into z[c * DOTS_TRIALS + trial]. */
    void (*run)(enum distribution distribution, uint64_t key, uint64_t first, const size_t *dims,
                size_t count, float *z);
};

/* Every ISA that the compiler could target, weakest first; the best that this host has. */
extern const struct dots *const dots_variants[];
extern const size_t dots_variant_count;
const struct dots *dots_best(void);

/* ---- mean and variance of a sample, and how far each may be from the truth ------------------- */

#define MOMENTS_NORMAL_975 1.959963985 /* quantile 0.975 of N(0, 1) */

/* Sums of powers; those of two samples are added term by term. */
struct moments {
    double n, sum[4]; /* of x, x^2, x^3, x^4 */
};

void moments_add(struct moments *moments, double x);
void moments_merge(struct moments *into, const struct moments *from);

/* Mean; unbiased variance and its 95 % interval, which is the normal one with the variance of a
 * variance estimated from the fourth moment (Cho and Cho 2008): for samples of hundreds and more,
 * whatever their distribution, as long as it has a fourth moment. */
struct variance {
    double mean, variance, lo, hi;
};
struct variance moments_variance(const struct moments *moments);

/* Half of the width of the interval in which 95 % of the variances of n values lie, whose own
 * variance is `variance` and fourth central moment `fourth`. */
double moments_half_width(double n, double variance, double fourth);

/* Moments of q.k over the first dims[c] dimensions, for each of `count` ascending dims.  The same for any
 * number of threads.  False if memory runs out. */
bool dots_moments(enum distribution distribution, uint64_t key, size_t trials, const size_t *dims,
                  size_t count, int threads, struct moments *moments);

/* Scales of logits that are compared: d to a power. */
struct scale_of_d {
    const char *name;
    double power;
};
#define SCALES_OF_D 4
#define SCALE_ROOT 2 /* the index of 1/sqrt(d) */
extern const struct scale_of_d scales_of_d[SCALES_OF_D];

#endif
