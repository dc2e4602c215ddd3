/*
 * kv: K and V by sequence, KV head and key, wherever they lie (dense, packed, in pages) and whatever
 * their type.
 *
 * Values are those that a kernel computes with: of 8 bits, the scale times the element.
 */
#ifndef HARNESS_PROBLEM_KV_H
#define HARNESS_PROBLEM_KV_H

#include "tensors.h"

/* Key j of KV head g in sequence b, j below the sequence's kv_len. */
struct kv_place {
    size_t b, g, j;
};

enum kv_operand { KV_K, KV_V };

double kv_get(const struct attn_problem *problem, const struct attn_tensors *tensors,
              enum kv_operand operand, struct kv_place at, size_t d);

/* For 8 bits x is rounded to what the element's scale makes of one.  NaN and infinity of int8 go into the
 * scale; in f8e4m3 both are NaN. */
void kv_set(const struct attn_problem *problem, const struct attn_tensors *tensors,
            enum kv_operand operand, struct kv_place at, size_t d, double x);

/* The scale of an element of 8 bits, for all that share it. */
float *kv_scale(const struct attn_problem *problem, const struct attn_tensors *tensors,
                enum kv_operand operand, struct kv_place at, size_t d);

/* Makes elements [first, first + n) of a row. */
typedef void kv_generate(const void *context, struct kv_place at, size_t first, size_t n,
                         double *x);
#define KV_CHUNK ((size_t)256) /* n at most */

/* Fills all rows of K or V on all threads.  8 bits: each scale is such that the largest element that
 * it belongs to becomes the largest of the type (of int8, 127).  A V that is part of K stays what K made
 * it. */
void kv_fill(struct tensor_set *set, const struct attn_problem *problem, enum kv_operand operand,
             kv_generate *generate, const void *context);

#endif
