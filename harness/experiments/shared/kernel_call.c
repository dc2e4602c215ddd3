/*
 * kernel_call: plan, workspace and operands together.
 */
#include "kernel_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
                                           char *message, size_t message_size)
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
    snprintf(message, message_size, "%s: %s", name, why);
    return NULL;
}

bool kernel_call_open(struct kernel_call *call, const struct attn_kernel *kernel,
                      const struct attn_problem *problem, int threads, char *message,
                      size_t message_size)
{
    static const struct tensors_layout layout = {.guard = TENSORS_TIMING};
    const size_t align = ATTN_WORKSPACE_ALIGN;
    const size_t bytes = attn_workspace_size(kernel, problem, threads);
    const char *why = "no memory for the workspace";
    *call = (struct kernel_call){0};
    if (!tensors_alloc(&call->set, problem, &layout, message, message_size))
        return false;
    tensors_poison(&call->set, problem);
    call->workspace = aligned_alloc(align, (bytes / align + 1) * align);
    if (call->workspace &&
        attn_plan_init(&call->plan, kernel, problem, threads, call->workspace, bytes, &why))
        return true;
    snprintf(message, message_size, "%s: %s", kernel->name, why);
    free(call->workspace);
    tensors_free(&call->set);
    return false;
}

bool kernel_call_scale(struct kernel_call *call, float scale, char *message, size_t message_size)
{
    const struct attn_kernel *kernel = call->plan.kernel;
    struct attn_problem problem = call->plan.problem;
    const int threads = call->plan.threads;
    const size_t bytes = call->plan.workspace_bytes;
    const char *why;
    problem.scale = scale;
    attn_plan_destroy(&call->plan);
    if (attn_plan_init(&call->plan, kernel, &problem, threads, call->workspace, bytes, &why))
        return true;
    snprintf(message, message_size, "%s: %s", kernel->name, why);
    call->plan = (struct attn_plan){0};
    return false;
}

void kernel_call_run(struct kernel_call *call)
{
    attn_execute(&call->plan, &call->set.tensors);
}

void kernel_call_close(struct kernel_call *call)
{
    if (call->plan.kernel)
        attn_plan_destroy(&call->plan);
    free(call->workspace);
    tensors_free(&call->set);
}
