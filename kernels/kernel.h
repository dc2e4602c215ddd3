/*
 * kernel.h: what kernel files share beside the public interface.
 *
 * kernel.cmake compiles each kernel file once per ISA and defines
 *
 *     ATTN_KERNEL       the one external symbol of the object, e.g. attn_kernel_flash_avx512
 *     ATTN_KERNEL_ISA   the variant's ISA, e.g. ATTN_ISA_AVX512
 *
 * Everything else in the file is static.  A kernel that computes in f64 too is compiled twice
 * (shared/either.h).
 */
#pragma once

#include <assert.h>

#include "attention.h"
#include "shared/real.h"

/* The descriptor at the end of the file defines it. */
extern const struct attn_kernel ATTN_KERNEL;

#define ATTN_BIT(dtype) (1u << (dtype))

/* Types of K and V that have scales. */
#define ATTN_DTYPES_SCALED \
    (ATTN_BIT(ATTN_I8) | ATTN_BIT(ATTN_F8E4M3) | ATTN_BIT(ATTN_F8E5M2) | ATTN_BIT(ATTN_I4))

/* Masks under which each query sees one interval of keys, attn_visible(). */
#define ATTN_MASKS_POSITIONAL (ATTN_MASK_CAUSAL | ATTN_MASK_CAUSAL_TOP_LEFT)

#define ATTN_MASKS_ALL (ATTN_MASKS_POSITIONAL | ATTN_MASK_BIAS | ATTN_MASK_BOOL | ATTN_MASK_TREE)

/* Capabilities of a kernel that implements all of attention.h. */
#define ATTN_OPTIONS_ALL                                                                   \
    (ATTN_OPTION_WINDOW | ATTN_OPTION_SOFTCAP | ATTN_OPTION_SINKS | ATTN_OPTION_ALIBI |    \
     ATTN_OPTION_RAGGED | ATTN_OPTION_PAGED | ATTN_OPTION_PACKED | ATTN_OPTION_SHARED_KV | \
     ATTN_OPTION_ZERO_POINTS)

#define ATTN_OUTPUTS_ALL (ATTN_OUTPUT_O | ATTN_OUTPUT_LSE | ATTN_OUTPUT_WEIGHTS)

/* n rounded up to a multiple of `to`. */
static inline size_t attn_round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* Bytes of n reals, rounded up so that neighbours in a workspace stay aligned.  They share no cache line
 * of 64 bytes, and at most one where lines are longer (128 bytes at Apple, 256 in A64FX). */
static inline size_t attn_reals_bytes(size_t n)
{
    return attn_round_up(n * sizeof(real), ATTN_WORKSPACE_ALIGN);
}

/* A workspace of `reals` for each thread, in bytes; SIZE_MAX where that overflows, which no caller
 * can lend. */
static inline size_t attn_threads_bytes(int threads, size_t reals)
{
    size_t bytes;
    if (reals > SIZE_MAX / sizeof(real) - ATTN_WORKSPACE_ALIGN ||
        __builtin_mul_overflow((size_t)threads, attn_reals_bytes(reals), &bytes))
        return SIZE_MAX;
    return bytes;
}

/* Thread `thread`'s share of a workspace that was sized by attn_threads_bytes(). */
static inline void *attn_thread_scratch(const struct attn_plan *plan, int thread)
{
    assert(thread >= 0 && thread < plan->threads);
    return (char *)plan->workspace + plan->workspace_bytes / (size_t)plan->threads /
                                         ATTN_WORKSPACE_ALIGN * ATTN_WORKSPACE_ALIGN *
                                         (size_t)thread;
}

/* Row (b, h, i) of an f32 tensor. */
static inline float *attn_row_f32(const struct attn_tensor *t, size_t b, size_t h, size_t i)
{
    assert(t->dtype == ATTN_F32);
    return (float *)t->data + (ptrdiff_t)b * t->stride[0] + (ptrdiff_t)h * t->stride[1] +
           (ptrdiff_t)i * t->stride[2];
}

/* The same of a tensor of what the kernel computes in. */
static inline real *attn_row_real(const struct attn_tensor *t, size_t b, size_t h, size_t i)
{
    assert(t->dtype == REAL_DTYPE);
    return (real *)t->data + (ptrdiff_t)b * t->stride[0] + (ptrdiff_t)h * t->stride[1] +
           (ptrdiff_t)i * t->stride[2];
}

/* The scale of the scores. */
static inline real attn_scale_real(const struct attn_problem *problem)
{
#if REAL_BYTES == 8
    return attn_problem_scale_f64(problem);
#else
    return attn_problem_scale(problem);
#endif
}
