/*
 * overruns_workspace: asks for one float less than it uses.
 */
#include "wrong.h"

static size_t workspace_size(const struct attn_problem *problem, int threads)
{
    (void)threads;
    return (problem->kv_len + 15) / 16 * 16 * sizeof(float);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    float *end = (float *)((char *)plan->workspace + plan->workspace_bytes);
    *(volatile float *)end = 0;
    each_row(plan, tensors, honest_row);
}

WRONG_KERNEL(overruns_workspace, "asks for one float less than it uses",
             .workspace_size = workspace_size);
