/*
 * kv: elements of K and V by sequence, KV head and key, for all layouts (dense, packed, pages) and types.
 *
 * Values are those that kernels compute with: scale * element for 8 bits, scale * (element - zero point) for
 * 4 bits.
 */
#pragma once

#include "tensors.h"

/* Key j of KV head g in sequence b, j below the sequence's kv_len. */
struct kv_place {
    size_t b, g, j;
};

/* Whether there is a key at *at, which behind a head's last key becomes the next head's or sequence's first.
 *
 *   for (struct kv_place at = {0}; kv_reaches(problem, tensors, &at); at.j++) */
bool kv_reaches(const struct attn_problem *problem, const struct attn_tensors *tensors,
                struct kv_place *at);

enum kv_operand { KV_K, KV_V };

/* Whether elements are integers, whose scales hold NaN and infinity. */
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

/* Number of pages of that many keys. */
static inline size_t kv_pages(const struct attn_problem *problem, size_t keys)
{
    return keys ? (keys - 1) / problem->page_size + 1 : 0;
}

/* Where a key's row begins. */
void *kv_row(const struct attn_problem *problem, const struct attn_tensors *tensors,
             enum kv_operand operand, struct kv_place at);

double kv_get(const struct attn_problem *problem, const struct attn_tensors *tensors,
              enum kv_operand operand, struct kv_place at, size_t d);

/* Stores x, in 8 and 4 bits the nearest value with the element's scale.  Integers: NaN and infinity go into
 * the scale; f8e4m3: both become NaN. */
void kv_set(const struct attn_problem *problem, const struct attn_tensors *tensors,
            enum kv_operand operand, struct kv_place at, size_t d, double x);

/* Changes the type of K and V; i4 gets groups of 32 unless the problem has a group size. */
void kv_set_type(struct attn_problem *problem, enum attn_dtype dtype);

/* The zero point of an element and of those that share it; NULL: the problem has none. */
float *kv_zero(const struct attn_problem *problem, const struct attn_tensors *tensors,
               enum kv_operand operand, struct kv_place at, size_t d);

/* Sets the scale of every element of a row; for i4 also its zero points, to 8. */
void kv_rescale(const struct attn_problem *problem, const struct attn_tensors *tensors,
                enum kv_operand operand, struct kv_place at, float scale);

/* The scale of an element of 8 or 4 bits and of those that share it. */
float *kv_scale(const struct attn_problem *problem, const struct attn_tensors *tensors,
                enum kv_operand operand, struct kv_place at, size_t d);

/* Generates elements [first, first + n) of a row into x. */
typedef void kv_generate(const void *context, struct kv_place at, size_t first, size_t n,
                         double *x);
#define KV_CHUNK ((size_t)256) /* largest n */

/* Fills all rows of K or V on all threads.  In 8 bits a scale maps its element of largest magnitude to the
 * largest number of the type (127 for int8).  In 4 bits scale and zero point map a group's smallest and
 * largest element to 0 and 15; without zero points the one of larger magnitude is mapped to 1 or 15.  A V
 * that is part of K is not filled. */
void kv_fill(struct tensor_set *set, const struct attn_problem *problem, enum kv_operand operand,
             kv_generate *generate, const void *context);
