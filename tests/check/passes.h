/*
 * passes: a kernel that the check must let pass.  Include behind cmocka.h.
 */
#pragma once

#include "check_kernel.h"

#define THREADS 2

static inline void assert_passes(const struct attn_kernel *kernel, const struct problem_case *c)
{
    struct check_result result;
    if (!check_kernel(kernel, c, THREADS, CHECK_FULL, &result))
        fail_msg("%s/%s: %s", kernel->name, attn_isa_name(kernel->isa), result.why);
    assert_true(result.ok && result.rows > 30);
    /* Rounding a 16-bit result may take the whole of u_out |O|. */
    const double expected = c->problem.dtype == ATTN_F32 ? 0.5 : 1;
    if (!(result.error_over_bound < expected && result.hardest_over_bound < 1))
        fail_msg("%s/%s: error is %g of the bound, %g on the hardest input", kernel->name,
                 attn_isa_name(kernel->isa), result.error_over_bound, result.hardest_over_bound);
    assert_true(result.rms_ratio > 0 && result.rms_ratio <= 8);
}
