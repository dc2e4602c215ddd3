/*
 * layer_call: a layer's plan and workspace.
 */
#include "layer_call.h"

#include <stdlib.h>

#include "kernel_call.h"

struct attn_self_attention layer_call_shape(size_t len, size_t d_in, size_t heads, size_t dim)
{
    return (struct attn_self_attention){.size = sizeof(struct attn_self_attention),
                                        .batch = 1,
                                        .len = len,
                                        .d_in = d_in,
                                        .heads = heads,
                                        .qk_dim = dim,
                                        .v_dim = dim};
}

bool layer_call_open(struct layer_call *call, const struct attn_self_attention *layer,
                     const char *name, struct experiment_work *work)
{
    struct attn_problem problem;
    const char *why = "no memory for the workspace";
    attn_self_attention_problem(layer, &problem);
    const struct attn_kernel *kernel = kernel_call_find(name, &problem, work);
    if (!kernel)
        return false;
    const size_t bytes = attn_self_attention_workspace(layer, kernel, work->threads);
    call->workspace = bytes ? aligned_alloc(ATTN_WORKSPACE_ALIGN, bytes) : NULL;
    if (call->workspace && attn_self_attention_init(&call->plan, layer, kernel, work->threads,
                                                    call->workspace, bytes, &why))
        return true;
    experiment_fail(work, "%s: %s", name, why);
    free(call->workspace);
    return false;
}

void layer_call_close(struct layer_call *call)
{
    attn_self_attention_destroy(&call->plan);
    free(call->workspace);
}
