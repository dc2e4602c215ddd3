/* Two keys with the same score: O is the mean of their values. */
#include <attention.h>
#include <stdio.h>
#include <stdlib.h>

#define TENSOR(array)    \
    {                    \
        array, ATTN_F32, \
        {                \
            2, 2, 1, 1   \
        }                \
    }

int main(void)
{
    float q[1] = {1}, k[2] = {3, 3}, v[2] = {1, 2}, o[1] = {0};
    const struct attn_tensors tensors = {sizeof tensors, .q = TENSOR(q), .k = TENSOR(k),
                                         .v = TENSOR(v), .o = TENSOR(o)};
    struct attn_problem problem;
    attn_problem_init(&problem);
    problem.kv_len = 2;
    const struct attn_kernel *kernel = attn_kernel_best(&problem, 1);
    if (!kernel)
        return puts("no kernel"), 1;
    const size_t bytes = attn_workspace_size(kernel, &problem, 1);
    void *workspace = aligned_alloc(ATTN_WORKSPACE_ALIGN,
                                    bytes + ATTN_WORKSPACE_ALIGN - bytes % ATTN_WORKSPACE_ALIGN);
    struct attn_plan plan;
    const char *why;
    if (!attn_plan_init(&plan, kernel, &problem, 1, workspace, bytes, &why))
        return puts(why), 1;
    attn_execute(&plan, &tensors);
    attn_plan_destroy(&plan);
    free(workspace);
    printf("%g\n", (double)o[0]);
    return 0;
}
