/*
 * tested: which variant a test program is to test, operands of a problem, and a kernel called on operands.
 * What comes out, check/ judges.  For tests; include behind cmocka.h.
 */
#pragma once

#include "problem/tensors.h"

#define TESTED_SKIPPED 77 /* exit status, ctest's SKIP_RETURN_CODE */

/* ---- the programs that run once per variant of the registry (attnbench_kernel_test) ----------- */

extern const struct attn_kernel *tested;
extern size_t tested_ran; /* problems of the running test that the variant supports */

/* The variant named "kernel/isa".  Anything but 0 is the status to exit with. */
int tested_choose(int argc, char **argv);

/* A test's setup, and its last line: what ran nothing has shown nothing. */
int tested_start(void **state);
void tested_skip_unless_ran(void);

/* Whether it is of one of the two fast kernels, flash and split_kv, and not a textbook kernel or another library. */
bool tested_is_fast(void);

/* A problem becomes one in a type that the variant has, f32 first. */
void tested_type(struct attn_problem *problem);

/* ---- operands --------------------------------------------------------------------------------- */

struct operands {
    struct attn_problem problem;
    struct tensor_set set;
};

/* Operands of a problem, N(0, 1), with so many elements between rows and a guard page behind. */
struct operands operands_open(const struct attn_problem *problem, size_t row_padding);

/* The same of a problem in text form, in a type that the variant under test has, where there is one. */
struct operands operands_of(const char *text);
void operands_close(struct operands *operands);

/* ---- a call ----------------------------------------------------------------------------------- */

/* Whether the kernel computes the problem: it supports it, and its library, if any, does not refuse it. */
bool tested_computes(const struct attn_kernel *kernel, const struct attn_problem *problem,
                     int threads);

/*
 * Calls the kernel once, with a workspace of the size that it asks for and not a byte more.  Returns the
 * outputs that were asked for: of those of the problem the ones that the kernel has; 0 where it does not
 * support the problem.  Fails the test where memory around the workspace is written.
 */
unsigned tested_call(const struct attn_kernel *kernel, const struct attn_problem *problem,
                     const struct attn_tensors *tensors, int threads);

/* The same with results poisoned before. */
unsigned operands_call(struct operands *operands, const struct attn_kernel *kernel, int threads);

/* Fails the test where these outputs are not as the reference has them. */
void tested_judge(const struct attn_kernel *kernel, const struct attn_problem *problem,
                  const struct attn_tensors *tensors, unsigned outputs);
