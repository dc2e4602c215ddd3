/*
 * kernel_call: a kernel ready to be called on an experiment's operands.
 */
#pragma once

#include "experiments/experiment.h"
#include "problem/tensors.h"

struct kernel_call {
    struct attn_plan plan;
    void *workspace;
    struct tensor_set set;
};

/* Names of the kernels that need no library or file, the last NULL. */
const char *const *kernel_call_names(void);

/* The kernel's variant that this host prefers for the problem; NULL fills work->message. */
const struct attn_kernel *kernel_call_find(const char *name, const struct attn_problem *problem,
                                           struct experiment_work *work);

/* Opens a plan, its workspace, operands of zeros, and poisoned results.  False fills work->message and leaves
 * nothing open. */
bool kernel_call_open(struct kernel_call *call, const struct attn_kernel *kernel,
                      const struct attn_problem *problem, int threads,
                      struct experiment_work *work);
/* The same with the operands of the case. */
bool kernel_call_case(struct kernel_call *call, const struct attn_kernel *kernel,
                      const struct problem_case *c, int threads, struct experiment_work *work);

/* A row's parameters: the step's, and the kernel's instruction set. */
json_t *kernel_call_params(const json_t *step, const struct attn_kernel *kernel);

void kernel_call_run(struct kernel_call *call);
void kernel_call_close(struct kernel_call *call);

/* The dot product of n elements, in float64. */
double kernel_call_dot(const float *a, const float *b, size_t n);

/* x rounded to a storage type. */
float kernel_call_round(float x, enum attn_dtype dtype);
