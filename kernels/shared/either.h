/*
 * either.h: joins the f32 and the f64 object of a kernel, for kernel files only.
 *
 * kernel.cmake compiles a kernel with F64 in the list twice per ISA: with float, and with ATTN_COMPUTE_F64
 * defined, with double (real.h).  The registry has the descriptor of the f32 object, whose two functions
 * below call the other object (ATTN_KERNEL_F64) if the problem has dtype=f64.
 */
#pragma once

#include "kernel.h"

#if defined ATTN_KERNEL_F64
extern const struct attn_kernel ATTN_KERNEL_F64;

/* Defined by the kernel file; not inlined, so that their code does not depend on the other object. */
static size_t workspace_size(const struct attn_problem *problem, int threads)
    __attribute__((noinline));
static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
    __attribute__((noinline));

static size_t either_workspace_size(const struct attn_problem *problem, int threads)
{
    if (problem->dtype == ATTN_F64)
        return ATTN_KERNEL_F64.workspace_size(problem, threads);
    return workspace_size(problem, threads);
}

static void either_execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    if (plan->problem.dtype == ATTN_F64)
        ATTN_KERNEL_F64.execute(plan, tensors);
    else
        execute(plan, tensors);
}
#define EITHER_DTYPES (ATTN_BIT(ATTN_F32) | ATTN_BIT(ATTN_F64))
#else
/* In the f64 object, or without one. */
#define EITHER_DTYPES ATTN_BIT(REAL_DTYPE)
#define either_workspace_size workspace_size
#define either_execute execute
#endif
