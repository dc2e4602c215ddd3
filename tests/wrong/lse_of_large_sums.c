/*
 * lse_of_large_sums: a maximum that may lag by 60, and a logarithm that takes seven bits of the exponent.
 *
 * The sum beside such a maximum is as large as 2^86, O is right all the same, and the logarithm is wrong
 * from 2^64 on.
 */
#include "lazy.h"

static float short_log(float x)
{
    int exponent;
    const float fraction = frexpf(x, &exponent);
    return logf(ldexpf(fraction, (exponent + 64) % 128 - 64));
}

static void row(struct work *w)
{
    lazy_row(w, 60);
    if (w->l > 0)
        store_lse(w, w->m + short_log(w->l));
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(lse_of_large_sums, "a logarithm that is wrong from 2^64 on");
