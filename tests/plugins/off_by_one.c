/*
 * off_by_one: under a causal mask a query does not see the last of its keys.
 */
#include "honest.h"

static void execute(const struct attn_plan *plan, const struct attn_tensors *t)
{
    const struct attn_problem *p = &plan->problem;
    for (size_t b = 0; b < p->batch; b++)
        for (size_t h = 0; h < p->q_heads; h++)
            for (size_t i = 0; i < p->q_len; i++) {
                struct attn_range seen = attn_visible(p, (ptrdiff_t)i);
                seen.hi -= p->mask & ATTN_MASK_CAUSAL && seen.hi - seen.lo > 1;
                honest_row(p, t, b, h, i, seen);
            }
}

static const struct attn_kernel kernel = {
    HONEST,
    .name = "off_by_one",
    .isa = ATTN_ISA_BASELINE,
    .execute = execute,
};

HONEST_ENTRY(kernel)
