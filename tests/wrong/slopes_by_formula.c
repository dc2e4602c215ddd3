/*
 * slopes_by_formula: takes the slopes of ALiBi's paper (Press et al. 2022) for those that it was
 * given, which the usual operands are.
 */
#include "wrong.h"

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    const size_t heads = plan->problem.q_heads;
    struct attn_tensors own = *tensors;
    float *slopes = malloc(heads * sizeof *slopes);
    for (size_t h = 0; h < heads; h++)
        slopes[h] = (float)exp2(-8 * (double)(h + 1) / (double)heads);
    if (plan->problem.options & ATTN_OPTION_ALIBI)
        own.slopes.data = slopes;
    each_row(plan, &own, honest_row);
    free(slopes);
}

WRONG_WHOLE_KERNEL(slopes_by_formula, "takes the slopes of the paper for those that it is given");
