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
#pragma once

#include "drawn_operands.h"
#include "problem/cases.h"

/* What a kernel should do. */
struct drawn_property {
    const struct attn_kernel *kernel;
    /* False where it has nothing to say of the case; where the kernel does otherwise, the test fails,
     * or crashes. */
    bool (*holds)(const struct drawn_property *property, const struct problem_case *c);
    const void *context; /* for holds */
    const char *
        test; /* as ctest calls it, less the variant: "kernels/relations"; NULL: attnbench's check */
};

/* The property that the kernel passes the check of a case's own input. */
bool drawn_passes(const struct drawn_property *property, const struct problem_case *c);

/* Threads to run a case on: 1 to 3. */
int drawn_threads(const struct problem_case *c);

/* Cases: given ones, or number 0, 1... of a seed. */
struct drawn_series {
    const struct problem_case *cases; /* NULL: drawn, by one of these */
    const struct drawn_limits *limits;
    void (*draw)(struct problem_case *c, uint64_t seed, size_t n);
    uint64_t seed;
    size_t count;
};

/* Holds the property against every case, or against what the environment says; fails the test with a
 * repro line where it does not hold.  Returns to how many it applied. */
size_t drawn_hold(const struct drawn_property *property, const struct drawn_series *series);

/* ---- the steps of that --------------------------------------------------------------------- */

/* The first case, if any, on which the property does not hold; *applied as above. */
bool drawn_find(const struct drawn_property *property, const struct drawn_series *series,
                struct problem_case *failing, size_t *applied);

/* Whether it does not hold on this one. */
bool drawn_fails(const struct drawn_property *property, const struct problem_case *c);

/* A simple case on which it does not hold either. */
struct problem_case drawn_simplest(const struct drawn_property *property,
                                   const struct problem_case *failing);

/* A command that shows it. */
#define DRAWN_REPRO 1536 /* bytes */
void drawn_repro(const struct drawn_property *property, const struct problem_case *c,
                 char text[DRAWN_REPRO]);
