/*
 * depth: how much a check looks at.
 */
#pragma once

/* Thread counts that can be judged together. */
#define CHECK_COUNTS 16

enum check_depth {
    CHECK_CASE,     /* the case's own input in full (at least 64 rows above 1e11 reference flops) */
    CHECK_FULL,     /* that, and every adversarial input and property, for a large case on a smaller
                      problem with the same remainders of tiles: `attnbench run` */
    CHECK_THOROUGH, /* the same on larger problems, and more needles: `attnbench check` */
    CHECK_INVARIANT /* the case's own input, and whether a row's bits depend on its own sequence
                       alone: `attnbench check --invariant` */
};
