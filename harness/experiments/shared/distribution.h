/*
 * distribution: distributions of random vectors' elements, with known moments.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

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
