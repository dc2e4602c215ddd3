/*
 * kernel_call: opens plan, workspace and operands together.
 */
#include "kernel_call.h"

#include <stdlib.h>

#include "element.h"
#include "problem/catalogue.h"

#define MOST_KERNELS 64

const char *const *kernel_call_names(void)
{
    static const char *names[MOST_KERNELS + 1];
    const char *known[MOST_KERNELS];
    const size_t count = names[0] ? 0 : catalogue_names(known, MOST_KERNELS);
    for (size_t i = 0, n = 0; i < count; i++)
        if (catalogue_in_group(known[i], "all"))
            names[n++] = known[i];
    return names;
}

const struct attn_kernel *kernel_call_find(const char *name, const struct attn_problem *problem,
                                           struct experiment_work *work)
{
    const enum attn_isa *order = attn_isa_preference();
    const char *why = "there is no such kernel";
    for (size_t i = 0; i < ATTN_ISA_COUNT; i++) {
        const struct attn_kernel *kernel = catalogue_find(name, order[i]);
        if (kernel && !attn_isa_available(kernel->isa))
            why = "this host lacks its instruction set";
        else if (kernel && attn_supports(kernel, problem, &why))
            return kernel;
    }
    experiment_fail(work, "%s: %s", name, why);
    return NULL;
}

bool kernel_call_open(struct kernel_call *call, const struct attn_kernel *kernel,
                      const struct attn_problem *problem, int threads, struct experiment_work *work)
{
    static const struct tensors_layout layout = {.guard = TENSORS_TIMING};
    const size_t align = ATTN_WORKSPACE_ALIGN;
    const size_t bytes = attn_workspace_size(kernel, problem, threads);
    const char *why = "no memory for the workspace";
    *call = (struct kernel_call){0};
    if (!tensors_alloc(&call->set, problem, &layout, MESSAGE(work->message)))
        return false;
    tensors_poison(&call->set, problem);
    call->workspace = aligned_alloc(align, (bytes / align + 1) * align);
    if (call->workspace &&
        attn_plan_init(&call->plan, kernel, problem, threads, call->workspace, bytes, &why))
        return true;
    experiment_fail(work, "%s: %s", kernel->name, why);
    free(call->workspace);
    tensors_free(&call->set);
    return false;
}

bool kernel_call_case(struct kernel_call *call, const struct attn_kernel *kernel,
                      const struct problem_case *c, int threads, struct experiment_work *work)
{
    if (!kernel_call_open(call, kernel, &c->problem, threads, work))
        return false;
    if (tensors_fill(&call->set, c, 0, MESSAGE(work->message)))
        return true;
    kernel_call_close(call);
    return false;
}

json_t *kernel_call_params(const json_t *step, const struct attn_kernel *kernel)
{
    json_t *params = json_copy((json_t *)step);
    json_object_set_new(params, "isa", json_string(attn_isa_name(kernel->isa)));
    return params;
}

void kernel_call_run(struct kernel_call *call)
{
    attn_execute(&call->plan, &call->set.tensors);
}

void kernel_call_close(struct kernel_call *call)
{
    attn_plan_destroy(&call->plan);
    free(call->workspace);
    tensors_free(&call->set);
}

double kernel_call_dot(const float *a, const float *b, size_t n)
{
    double sum = 0;
    for (size_t d = 0; d < n; d++)
        sum += (double)a[d] * (double)b[d];
    return sum;
}

float kernel_call_round(float x, enum attn_dtype dtype)
{
    return dtype == ATTN_BF16  ? attn_bf16_to_f32(attn_f32_to_bf16(x))
           : dtype == ATTN_F16 ? attn_f16_to_f32(attn_f32_to_f16(x))
                               : x;
}
