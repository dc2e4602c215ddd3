/*
 * dots: inner products q.k of random vectors, and their moments.
 *
 * Each vector lane is a trial with its own generator, so that a trial's numbers depend neither on the width
 * of vectors nor on the number of threads.
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

/* A distribution's exact moments. */
struct distribution_facts {
    const char *name;
    double variance, fourth; /* E x^2, E x^4 */
};
extern const struct distribution_facts distributions[DISTRIBUTION_COUNT];

/* The names, the last NULL; the distribution of a name, DISTRIBUTION_COUNT if there is none. */
extern const char *const distribution_names[];
enum distribution distribution_find(const char *name);

/* Draws elements [first, first + n) of a stream, independent of each other. */
void distribution_draw(enum distribution distribution, float *x, size_t n, uint64_t key,
                       uint64_t first);

#define DOTS_TRIALS ((size_t)64) /* trials of a call, a multiple of any vector's lanes */

struct dots {
    enum attn_isa isa;

    /* Computes z[c * DOTS_TRIALS + t], q.k of trial first + t of a stream over its first dims[c] dimensions,
     * for `count` ascending dims. */
    void (*run)(enum distribution distribution, uint64_t key, uint64_t first, const size_t *dims,
                size_t count, float *z);
};

/* A variant for each ISA that the compiler could target, weakest first; the best that this host has. */
extern const struct dots *const dots_variants[];
extern const size_t dots_variant_count;
const struct dots *dots_best(void);

/* ---- mean and variance of a sample, and its interval ----------------------------------------- */

#define MOMENTS_NORMAL_975 1.959963985 /* quantile 0.975 of N(0, 1) */

/* Sums of powers. */
struct moments {
    double n, sum[4]; /* values; sums of x, x^2, x^3, x^4 */
};

void moments_add(struct moments *moments, double x);
void moments_merge(struct moments *into, const struct moments *from);

/* Mean; unbiased variance and its 95 % interval, by the normal distribution, with the variance of the
 * variance estimated from the fourth moment (Cho and Cho 2008).  For samples of hundreds and more, of any
 * distribution with a fourth moment. */
struct variance {
    double mean, variance, lo, hi;
};
struct variance moments_variance(const struct moments *moments);

/* Half the width of the interval that holds 95 % of the variances of samples of n values, whose distribution
 * has variance `variance` and fourth central moment `fourth`. */
double moments_half_width(double n, double variance, double fourth);

/* moments[c]: of q.k over the first dims[c] dimensions, for `count` ascending dims.  The same for any number
 * of threads.  False if memory runs out. */
bool dots_moments(enum distribution distribution, uint64_t key, size_t trials, const size_t *dims,
                  size_t count, int threads, struct moments *moments);

/* Scales of logits: powers of d. */
struct scale_of_d {
    const char *name;
    double power;
};
#define SCALES_OF_D 4
#define SCALE_ROOT 2 /* the index of 1/sqrt(d) */
extern const struct scale_of_d scales_of_d[SCALES_OF_D];

#endif
