/*
 * kv: K and V by sequence, KV head and key, wherever they lie (dense, packed, in pages) and whatever
 * their type.
 *
 * Values are those that a kernel computes with: of 8 bits, the scale times the element; of 4 bits, the scale
 * times what the element is above its zero point.
 */
#ifndef HARNESS_PROBLEM_KV_H
#define HARNESS_PROBLEM_KV_H

#include "tensors.h"

/* Key j of KV head g in sequence b, j below the sequence's kv_len. */
struct kv_place {
    size_t b, g, j;
};

enum kv_operand { KV_K, KV_V };

/* Whether elements are integers, so that NaN and infinity go into their scales. */
static inline bool kv_integers(enum attn_dtype dtype)
{
    return dtype == ATTN_I8 || dtype == ATTN_I4;
}

/* Dimensions that share a scale of a key: of 4 bits its group, of others all or one. */
static inline size_t kv_step(const struct attn_problem *problem)
{
    return problem->kv_dtype == ATTN_I4 ? problem->kv_group : 1;
}

/* Scales of a row of `dim` elements of K or V: of i4 its groups, else 1. */
static inline size_t kv_groups(const struct attn_problem *problem, size_t dim)
{
    return problem->kv_dtype == ATTN_I4 ? (dim - 1) / problem->kv_group + 1 : 1;
}

double kv_get(const struct attn_problem *problem, const struct attn_tensors *tensors,
              enum kv_operand operand, struct kv_place at, size_t d);

/* In 8 and 4 bits x becomes the nearest value that the element's scale can give.  Integers have no NaN or
 * infinity: these go into the scale; in f8e4m3 both become NaN. */
void kv_set(const struct attn_problem *problem, const struct attn_tensors *tensors,
            enum kv_operand operand, struct kv_place at, size_t d, double x);

/* Changes the type of K and V; i4 gets groups of 32 where the problem has no group size. */
void kv_set_type(struct attn_problem *problem, enum attn_dtype dtype);

/* The zero point of an element, for all that share it; NULL where the problem has none. */
float *kv_zero(const struct attn_problem *problem, const struct attn_tensors *tensors,
               enum kv_operand operand, struct kv_place at, size_t d);

/* Gives every element of a row that scale, and of i4 the zero point 8. */
void kv_rescale(const struct attn_problem *problem, const struct attn_tensors *tensors,
                enum kv_operand operand, struct kv_place at, float scale);

/* The scale of an element of 8 or 4 bits, for all that share it. */
float *kv_scale(const struct attn_problem *problem, const struct attn_tensors *tensors,
                enum kv_operand operand, struct kv_place at, size_t d);

/* Makes elements [first, first + n) of a row. */
typedef void kv_generate(const void *context, struct kv_place at, size_t first, size_t n,
                         double *x);
#define KV_CHUNK ((size_t)256) /* n at most */

/* Fills all rows of K or V on all threads.  8 bits: each scale is such that the largest element that
 * it belongs to becomes the largest of the type (of int8, 127); of 4 bits, so that the smallest and the
 * largest of a group become 0 and 15, or without zero points the larger of both 7 below or above 8.  A V that
 * is part of K stays what K made it. */
void kv_fill(struct tensor_set *set, const struct attn_problem *problem, enum kv_operand operand,
             kv_generate *generate, const void *context);

#endif
