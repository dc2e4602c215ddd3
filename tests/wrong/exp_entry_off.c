/*
 * exp_entry_off: an exponential by a table of 32 powers, one of which is 16 ulp too large.
 *
 * One weight in 32 is wrong by 1e-6, which is lost in any sum of many.
 */
#include <string.h>

#include "wrong.h"

#define ENTRIES 32
#define WRONG_ENTRY 21

static float table_exp(float x)
{
    const float y = x * 1.44269504f * ENTRIES, nearest = rintf(y);
    if (!(y > -126 * ENTRIES)) /* NaN */
        return expf(x);
    const int k = (int)nearest, entry = k & (ENTRIES - 1);
    float power = exp2f((float)entry / ENTRIES);
    if (entry == WRONG_ENTRY)
        power += 16 * 0x1p-23f;
    return ldexpf(power * exp2f((y - nearest) / ENTRIES), (k - entry) / ENTRIES);
}

static void row(struct work *w)
{
    make_scores(w);
    find_maximum(w);
    const float m = w->m == -INFINITY ? 0 : w->m;
    w->l = 0;
    for (ptrdiff_t j = w->seen.lo; j < w->seen.hi; j++)
        w->l += w->scores[j] = table_exp(w->scores[j] - m);
    w->l += expf(w->sink - m);
    sum_values(w);
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(exp_entry_off, "a table of powers of two with an entry that is 16 ulp off");
