/*
 * judged_problem: operands of a problem, what the reference says of every row, and a kernel's
 * results compared with it; for tests.  Include behind cmocka.h.
 */
#ifndef TESTS_JUDGED_PROBLEM_H
#define TESTS_JUDGED_PROBLEM_H

#include "problem/tensors.h"

struct judged_problem {
    struct problem_case c;
    struct tensor_set set;       /* empty where the operands are the caller's */
    struct attn_tensors tensors; /* what kernels and the reference get: the set's, until changed */
    unsigned outputs;            /* of the last execution: those wanted that the kernel has */
    bool judged;
    /* Per row that there is, in the order (b, h, i), computed for kernels that compute in f32. */
    double *o, *bound, *magnitude; /* v_dim each */
    double *weights, *weights_bound;
    double *lse, *lse_bound;
};

/* Operands of the problem with N(0, 1) in them; outputs in `problem` count.  Fails the test where
 * that does not work. */
struct judged_problem *judged_open(const struct attn_problem *problem,
                                   const struct tensors_layout *layout);
void judged_close(struct judged_problem *t);

/* The same with operands and results of the caller's own, which are there until judged_close(). */
struct judged_problem *judged_wrap(const struct attn_problem *problem,
                                   const struct attn_tensors *tensors);

/* To be called by who changed an operand or `tensors`: what was judged no longer holds. */
void judged_changed(struct judged_problem *t);

/* Multiplies the first head of the first sequence of an operand. */
void judged_magnify(struct judged_problem *t, const struct attn_tensor *operand, double factor);

/*
 * Runs the kernel on the problem once, results poisoned before, with a workspace of the size that
 * it asks for and not a byte more.  Outputs that the kernel does not have are not asked for.  Fails
 * the test where a result is not written or something else is.  False where the kernel does not
 * support the problem.
 */
bool judged_run(struct judged_problem *t, const struct attn_kernel *kernel, int threads);

/* Fails the test where a result is not as the reference has it. */
void judged_compare(struct judged_problem *t, const struct attn_kernel *kernel);

/* The same for an execution that the caller prepared: `plan` on t's tensors. */
void judged_execute(struct judged_problem *t, const struct attn_plan *plan);

/* Scratch memory for a plan, with a canary in front and behind. */
struct lent_workspace {
    unsigned char *memory;
    size_t bytes;
};
struct lent_workspace judged_lend(size_t bytes);
void *judged_workspace(const struct lent_workspace *lent);
void judged_take_back(struct lent_workspace *lent); /* fails the test where a canary died */

/* What judged_compare() does first: asks the reference about every row, unless it was asked already. */
void judged_fill(struct judged_problem *t);

/* By how much the kernel's results in a row may differ from the reference's. */
double judged_bound_o(const struct judged_problem *t, const struct attn_kernel *kernel, size_t row,
                      size_t d);
double judged_bound_lse(const struct judged_problem *t, const struct attn_kernel *kernel,
                        size_t row);

/* RMS error of O against the reference. */
double judged_rms_error(struct judged_problem *t);

#endif
