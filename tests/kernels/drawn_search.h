/*
 * drawn_search: holds what a kernel should do against drawn problems, in a child, where a kernel may
 * crash or hang.  Where it fails, a simpler problem is found on which it fails, too, and one line says
 * how to see that again.  For tests; include behind cmocka.h.
 *
 * The environment of the tests that use it:
 *
 *     ATTNBENCH_DRAWS=N      N problems wherever some are drawn
 *     ATTNBENCH_SEED=S       drawn from seed S on
 *     ATTNBENCH_PROBLEM=P    this problem alone, with operands of seed S (0 where there is none)
 */
#ifndef TESTS_DRAWN_SEARCH_H
#define TESTS_DRAWN_SEARCH_H

#include "drawn_operands.h"

/* A problem, and the seed of its operands. */
struct drawn_case {
    struct attn_problem problem;
    uint64_t seed;
};

/* What a kernel should do. */
struct drawn_property {
    const struct attn_kernel *kernel;
    /* False where it has nothing to say of the case; where the kernel does otherwise, the test fails,
     * or crashes. */
    bool (*holds)(const struct drawn_property *property, const struct drawn_case *c);
    const void *context; /* for holds */
    const char *test;    /* as ctest calls it, less the variant: "kernels/options" */
};

/* The property that results are within the bound of the reference; keys that nobody sees are NaN, where
 * the kernel can bear that. */
bool drawn_is_as_reference(const struct drawn_property *property, const struct drawn_case *c);

/* Threads to run a case on: 1 to 3. */
int drawn_threads(const struct drawn_case *c);

/* Cases: given ones, or problems drawn from a seed on. */
struct drawn_series {
    const struct drawn_case *cases; /* NULL: drawn */
    const struct drawn_limits *limits;
    uint64_t seed;
    size_t count;
};

/* Holds the property against every case, or against what the environment says; fails the test with a
 * repro line where it does not hold.  Returns to how many it applied. */
size_t drawn_hold(const struct drawn_property *property, const struct drawn_series *series);

/* ---- the steps of that --------------------------------------------------------------------- */

/* The first case, if any, on which the property does not hold; *applied as above. */
bool drawn_find(const struct drawn_property *property, const struct drawn_series *series,
                struct drawn_case *failing, size_t *applied);

/* Whether it does not hold on this one. */
bool drawn_fails(const struct drawn_property *property, const struct drawn_case *c);

/* A case on which it does not hold either, and on which no simplification that is known changes that. */
struct drawn_case drawn_simplest(const struct drawn_property *property,
                                 const struct drawn_case *failing);

/* A command that shows it: the program's check where that finds it, else the test on this case. */
#define DRAWN_REPRO 1536 /* bytes */
void drawn_repro(const struct drawn_property *property, const struct drawn_case *c,
                 char text[DRAWN_REPRO]);

#endif
