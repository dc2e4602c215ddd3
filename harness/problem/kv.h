/*
 * kv: K and V by sequence, KV head and key, wherever they lie (dense, packed, in pages) and whatever their
 * type.
 *
 * Values are those that a kernel computes with: scale * element for 8 bits, scale * (element - zero point)
 * for 4 bits.
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

/* Number of dimensions that share a zero point and scale of a key: a group of i4, else 1. */
static inline size_t kv_step(const struct attn_problem *problem)
{
    return problem->kv_dtype == ATTN_I4 ? problem->kv_group : 1;
}

/* Number of scales of a row of `dim` elements of K or V: its groups for i4, else 1. */
static inline size_t kv_groups(const struct attn_problem *problem, size_t dim)
{
    return problem->kv_dtype == ATTN_I4 ? (dim - 1) / problem->kv_group + 1 : 1;
}

double kv_get(const struct attn_problem *problem, const struct attn_tensors *tensors,
              enum kv_operand operand, struct kv_place at, size_t d);

/* Stores x; in 8 and 4 bits the nearest value possible with the element's scale.  For integers NaN and
 * infinity are stored in the scale; in f8e4m3 both become NaN. */
void kv_set(const struct attn_problem *problem, const struct attn_tensors *tensors,
            enum kv_operand operand, struct kv_place at, size_t d, double x);

/* Changes the type of K and V; i4 gets groups of 32 where the problem has no group size. */
void kv_set_type(struct attn_problem *problem, enum attn_dtype dtype);

/* The zero point of an element, for all that share it; NULL where the problem has none. */
float *kv_zero(const struct attn_problem *problem, const struct attn_tensors *tensors,
               enum kv_operand operand, struct kv_place at, size_t d);

/* Sets the scale of every element of a row, and for i4 its zero point to 8. */
void kv_rescale(const struct attn_problem *problem, const struct attn_tensors *tensors,
                enum kv_operand operand, struct kv_place at, float scale);

/* The scale of an element of 8 or 4 bits, for all that share it. */
float *kv_scale(const struct attn_problem *problem, const struct attn_tensors *tensors,
                enum kv_operand operand, struct kv_place at, size_t d);

/* Makes elements [first, first + n) of a row. */
typedef void kv_generate(const void *context, struct kv_place at, size_t first, size_t n,
                         double *x);
#define KV_CHUNK ((size_t)256) /* n at most */

/* Fills all rows of K or V on all threads.  In 8 bits a scale maps the largest of its elements to the
 * largest number of the type (127 for int8).  In 4 bits scale and zero point map the smallest and the
 * largest element of a group to 0 and 15; without zero points the larger of both sizes is mapped to 1 or
 * 15.  A V that is part of K is left as it is. */
void kv_fill(struct tensor_set *set, const struct attn_problem *problem, enum kv_operand operand,
             kv_generate *generate, const void *context);

#endif
