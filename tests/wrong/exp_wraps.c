/*
 * exp_wraps: an exponential that adds to the exponent's bits without a clamp: far below 0 it wraps.
 */
#include <string.h>

#include "wrong.h"

static float bad_exp(float x)
{
    const float y = x * 1.44269504f, n = rintf(y);
    float p = exp2f(y - n);
    uint32_t bits;
    memcpy(&bits, &p, sizeof bits);
    bits += (uint32_t)(int32_t)n << 23;
    memcpy(&p, &bits, sizeof p);
    return p;
}

static void row(struct work *w)
{
    make_scores(w);
    find_maximum(w);
    w->l = 0;
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        w->l += w->scores[j] = bad_exp(w->scores[j] - w->m);
    sum_values(w);
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(
    exp_wraps,
    "an exponential by bits of the exponent, without a clamp: far below 0 it wraps around");
