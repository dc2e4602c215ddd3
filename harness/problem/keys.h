/*
 * keys: K and V by sequence, KV head and key, wherever they lie (dense, packed, in pages) and whatever
 * their type.
 *
 * Values are those that a kernel computes with: of int8, the scale times the integer.
 */
#ifndef HARNESS_PROBLEM_KEYS_H
#define HARNESS_PROBLEM_KEYS_H

#include "tensors.h"

/* Key j of KV head g in sequence b, j below the sequence's kv_len. */
struct patterns_key {
    size_t b, g, j;
};

enum keys_operand { KEYS_K, KEYS_V };

double keys_get(const struct attn_problem *problem, const struct attn_tensors *tensors,
                enum keys_operand operand, struct patterns_key at, size_t d);

/* Of int8: rounded to a multiple of the scale that is there; NaN and infinity go into the scale. */
void keys_set(const struct attn_problem *problem, const struct attn_tensors *tensors,
              enum keys_operand operand, struct patterns_key at, size_t d, double x);

/* The scale of an element of int8, for all that share it. */
float *keys_scale(const struct attn_problem *problem, const struct attn_tensors *tensors,
                  enum keys_operand operand, struct patterns_key at, size_t d);

/* Makes elements [first, first + n) of a row. */
typedef void keys_generate(const void *context, struct patterns_key at, size_t first, size_t n,
                           double *x);
#define KEYS_CHUNK ((size_t)256) /* n at most */

/* Fills all rows of K or V on all threads.  Int8: each scale is such that the largest element that it
 * belongs to becomes 127 or -127.  A V that is part of K stays what K made it. */
void keys_fill(struct tensor_set *set, const struct attn_problem *problem,
               enum keys_operand operand, keys_generate *generate, const void *context);

#endif
