/*
 * kernel_weights: attention weights of any kernel, whether it returns them or not.
 */
#pragma once

#include "attention.h"
#include "experiments/experiment.h"

/* Queries (rows, dim) and keys (keys, dim) of one head, rows `stride` elements apart. */
struct kernel_weights_head {
    const float *q, *k;
    size_t rows, keys, dim, stride;
    float scale; /* 0: 1/sqrt(dim) */
    unsigned mask;
    enum attn_dtype dtype; /* of the kernel's operands; ATTN_F32 is 0 */
    /* (rows, keys), for masks bias and bool: added to the scores; bool hides keys at -inf */
    const float *added;
};

/* The problem of a head with values of v_dim elements. */
struct attn_problem kernel_weights_problem(const struct kernel_weights_head *head, size_t v_dim);

/* Weights (rows, keys) into p: the kernel's output on the identity as values.  False fills work->message. */
bool kernel_weights(const char *kernel, const struct kernel_weights_head *head, double *p,
                    struct experiment_work *work);

/* The output (rows, v_dim) for dense values (keys, v_dim).  False fills work->message. */
bool kernel_weights_values(const char *kernel, const struct kernel_weights_head *head,
                           const float *v, size_t v_dim, double *o, struct experiment_work *work);

/* Whether the kernel has a variant on this host that takes these masks. */
bool kernel_weights_takes(const char *kernel, unsigned mask);
