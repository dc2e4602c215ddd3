/*
 * tensors_view: what each operand and result is as a block of memory; for tensors*.c,
 * exchange.c and patterns.c.
 *
 * A view is (batch, heads, rows, cols) with dense rows.  LSE is seen as one row of q_len per head,
 * although kernels address its elements by stride[2] = 1.
 */
#ifndef HARNESS_PROBLEM_TENSORS_VIEW_H
#define HARNESS_PROBLEM_TENSORS_VIEW_H

#include "tensors.h"

#define TENSORS_VIEWS 3
#define TENSORS_SHIFT_RANGE 4096 /* bytes: shifts are taken modulo this */

struct tensors_view {
    const char *name;
    struct attn_tensor *t;
    enum attn_dtype dtype;
    size_t batch, heads, rows, cols;
    enum attn_layout order;
    bool one_row; /* LSE */
};

/* q, k, v; and the results that the problem wants. */
size_t tensors_operands(struct attn_tensors *t, const struct attn_problem *problem,
                        struct tensors_view views[TENSORS_VIEWS]);
size_t tensors_results(struct attn_tensors *t, const struct attn_problem *problem,
                       struct tensors_view views[TENSORS_VIEWS]);

/* Sets the tensor's strides for rows `padding` elements apart. */
void tensors_set_strides(const struct tensors_view *view, size_t padding);

/* Bytes from the first element to the end of the last one; SIZE_MAX where they overflow. */
size_t tensors_extent(const struct tensors_view *view, size_t padding);

/* Bytes from its page to the start of operand number `index`: neighbours get different ones. */
static inline size_t tensors_stagger(size_t shift, size_t index)
{
    return shift * (2 * index + 1) % TENSORS_SHIFT_RANGE;
}

size_t tensors_page(void);

/* A hash of bytes, for checksums. */
uint64_t tensors_hash(const void *data, size_t bytes);

/* Poison into every element of a result, and into the padding between rows. */
void tensors_poison_result(const struct tensors_view *view);
void tensors_poison_padding(const struct tensors_view *view, size_t padding);

/* Maps and poisons the results of a set. */
bool tensors_alloc_results(struct tensor_set *set, const struct attn_problem *problem,
                           char *message, size_t message_size);

#endif
