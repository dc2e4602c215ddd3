/*
 * reads_null: reads an optional operand that is absent, for the last query head.
 */
#include "wrong.h"

/* The undefined behaviour is what this is about. */
__attribute__((no_sanitize("undefined"))) static void row(struct work *w)
{
    const volatile float *sinks = w->tensors->sinks.data;
    if (w->h == w->problem->q_heads - 1)
        (void)sinks[w->h];
    honest_row(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, row);
}

WRONG_KERNEL(reads_null,
             "takes an optional operand that is absent for one of zeros, for the last query head");
