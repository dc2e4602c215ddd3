/*
 * kernel_weights: the attention weights of any kernel, also of one that does not return them.
 */
#ifndef HARNESS_EXPERIMENTS_SHARED_KERNEL_WEIGHTS_H
#define HARNESS_EXPERIMENTS_SHARED_KERNEL_WEIGHTS_H

#include "attention.h"
#include "experiments/experiment.h"

/* Queries (rows, dim) and keys (keys, dim) of one head, rows `stride` elements apart. */
struct weights_head {
    const float *q, *k;
    size_t rows, keys, dim, stride;
    float scale; /* 0: 1/sqrt(dim) */
    unsigned mask;
    enum attn_dtype dtype; /* of the kernel's operands; ATTN_F32 is 0 */
    /* (rows, keys), if the mask is bias or bool: added to the scores; for bool, -inf hides */
    const float *added;
};

/* Weights (rows, keys) into p: the output for values that are the identity.  False fills
 * work->message. */
bool kernel_weights(const char *kernel, const struct weights_head *head, double *p,
                    struct experiment_work *work);

/* The output (rows, v_dim) for dense values (keys, v_dim). */
bool kernel_values(const char *kernel, const struct weights_head *head, const float *v,
                   size_t v_dim, double *o, struct experiment_work *work);

/* Whether the kernel has a variant on this host that takes these masks. */
bool kernel_weights_takes(const char *kernel, unsigned mask);

/* By the definition in float64: scores times a factor, without mask; weights, without LSE; and the output
 * (rows, v_dim) of weights and values with rows `v_stride` elements apart.  Masked keys have weight 0. */
void definition_scores(const struct weights_head *head, double factor, double *x);
void definition_weights(const struct weights_head *head, double *p);
void definition_output(const struct weights_head *head, const double *p, const float *v,
                       size_t v_stride, size_t v_dim, double *o);

#endif
