/*
 * second_runtime: computes on threads of another OpenMP runtime than the program's, as a shared object that
 * was built by another compiler does.
 */
#include "wrong.h"

void second_openmp(void);

WRONG_CALL(second_runtime, "brings a second OpenMP runtime")
{
    second_openmp();
    each_row(plan, tensors, honest_row);
}
