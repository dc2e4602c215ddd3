/*
 * layer_call: a self-attention layer ready to be called.
 */
#pragma once

#include "experiments/experiment.h"
#include "self_attention.h"

struct layer_call {
    struct attn_self_attention_plan plan;
    void *workspace;
};

/* A layer of one sequence with `heads` heads of `dim` and no output projection. */
struct attn_self_attention layer_call_shape(size_t len, size_t d_in, size_t heads, size_t dim);

/* Uses the kernel's variant that the host prefers.  False fills work->message and leaves nothing open. */
bool layer_call_open(struct layer_call *call, const struct attn_self_attention *layer,
                     const char *kernel, struct experiment_work *work);
void layer_call_close(struct layer_call *call);
