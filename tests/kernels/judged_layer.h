/*
 * judged_layer: an attention layer against its definition in float64.
 *
 * For tests; include behind cmocka.h.
 */
#ifndef TESTS_JUDGED_LAYER_H
#define TESTS_JUDGED_LAYER_H

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

/* Keys of a sequence. */
size_t layer_keys(const struct attn_self_attention *l);

/* Weights of query i of batch b, head h, by the definition: p[layer_keys()]. */
void layer_weights(const struct attn_self_attention *l, const struct attn_self_attention_tensors *t,
                   size_t b, size_t h, size_t i, double *p);

/* Fails where Y is not what the definition says, within 5e-5. */
void layer_judge(const struct attn_self_attention *l, const struct attn_self_attention_tensors *t);

#endif
