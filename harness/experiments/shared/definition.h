/*
 * definition: attention of one head by its definition, in float64.
 */
#pragma once

#include "kernel_weights.h"

/* Scores (rows, keys) times a factor, without mask; weights (rows, keys), 0 for masked keys; the output (rows,
 * v_dim) from weights and values, whose rows are `v_stride` elements apart. */
void definition_scores(const struct kernel_weights_head *head, double factor, double *x);
void definition_weights(const struct kernel_weights_head *head, double *p);
void definition_output(const struct kernel_weights_head *head, const double *p, const float *v,
                       size_t v_stride, size_t v_dim, double *o);
