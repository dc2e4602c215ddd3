/*
 * kernel_call: one kernel, ready to be called on operands that an experiment fills.
 */
#ifndef HARNESS_EXPERIMENTS_SHARED_KERNEL_CALL_H
#define HARNESS_EXPERIMENTS_SHARED_KERNEL_CALL_H

#include "problem/tensors.h"

struct kernel_call {
    struct attn_plan plan;
    void *workspace;
    struct tensor_set set;
};

/* Names of every kernel that needs nothing but this program, the last NULL. */
const char *const *kernel_call_names(void);

/* The variant of that name that this host prefers for the problem; NULL with a reason. */
const struct attn_kernel *kernel_call_find(const char *name, const struct attn_problem *problem,
                                           char *message, size_t message_size);

/* A plan, its workspace and operands of zeros, results poisoned.  False leaves nothing open. */
bool kernel_call_open(struct kernel_call *call, const struct attn_kernel *kernel,
                      const struct attn_problem *problem, int threads, char *message,
                      size_t message_size);
/* Another scale for the same operands. */
bool kernel_call_scale(struct kernel_call *call, float scale, char *message, size_t message_size);

void kernel_call_run(struct kernel_call *call);
void kernel_call_close(struct kernel_call *call);

#endif
