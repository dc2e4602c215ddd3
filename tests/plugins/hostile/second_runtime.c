/*
 * second_runtime: computes on threads of another OpenMP runtime than the program's, as a shared object that was
 * built by another compiler does.
 */
#include "wrong.h"

void second_openmp(void);

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    second_openmp();
    each_row(plan, tensors, honest_row);
}

WRONG_KERNEL(second_runtime, "brings a second OpenMP runtime");
