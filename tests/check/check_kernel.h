/*
 * check_kernel: a check on one thread count.
 */
#pragma once

#include "check/check.h"

static inline bool check_kernel(const struct attn_kernel *kernel, const struct problem_case *c,
                                int threads, enum check_depth depth, struct check_result *result)
{
    return check_counts(kernel, c, &threads, 1, depth, result);
}
