/*
 * judged_layer: an attention layer against the reference of its attention, between projections in float64.
 *
 * For tests; include behind cmocka.h.
 */
#pragma once

#include "self_attention.h"

/* A small layer of every dimension, causal. */
extern const struct attn_self_attention layer_small;

/* Operands of a layer, N(0, 1), and room for its results; free(all). */
struct layer_operands {
    struct attn_self_attention_tensors t;
    float *all;
};
struct layer_operands layer_operands(const struct attn_self_attention *l);

/* Computes a layer by the baseline variant of a kernel; fails where that refuses. */
void layer_run(const struct attn_self_attention *l, const char *kernel, int threads,
               const struct attn_self_attention_tensors *t);

/* Fails where Y, and weights where the layer wants them, are not what the reference makes of projections in
 * float64, within 5e-5 and 1e-5. */
void layer_judge(const struct attn_self_attention *l, const struct attn_self_attention_tensors *t);
