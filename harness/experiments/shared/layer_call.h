/*
 * layer_call: the self-attention layer with one kernel, ready to be called.
 */
#ifndef HARNESS_EXPERIMENTS_SHARED_LAYER_CALL_H
#define HARNESS_EXPERIMENTS_SHARED_LAYER_CALL_H

#include "experiments/experiment.h"
#include "self_attention.h"

struct layer_call {
    struct attn_self_attention_plan plan;
    void *workspace;
};

/* One sequence through `heads` heads of `dim`, without an output projection. */
struct attn_self_attention layer_shape(size_t len, size_t d_in, size_t heads, size_t dim);

/* Uses the host's preferred variant of that kernel.  False fills work->message and leaves nothing open. */
bool layer_call_open(struct layer_call *call, const struct attn_self_attention *layer,
                     const char *kernel, struct experiment_work *work);
void layer_call_close(struct layer_call *call);

#endif
