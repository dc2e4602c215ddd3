/*
 * tensors_view: what each operand and result is as a block of memory; for the files of this folder that
 * make, fill and move operands.
 *
 * A view is (batch, heads, rows, cols) with dense rows.  LSE is seen as one row of q_len per head,
 * although kernels address its elements by stride[2] = 1; the lengths of all sequences are one row.
 */
#ifndef HARNESS_PROBLEM_TENSORS_VIEW_H
#define HARNESS_PROBLEM_TENSORS_VIEW_H

#include "tensors.h"

#define TENSORS_SHIFT_RANGE 4096 /* bytes: shifts are taken modulo this */

struct tensors_view {
    const char *name;
    enum operand_id id; /* OPERANDS of a result */
    struct attn_tensor *t;
    enum attn_dtype dtype;
    size_t batch, heads, rows, cols;
    enum attn_layout order;
    unsigned dense;  /* the logical dimension, of the tensor's strides, that the columns are */
    unsigned shared; /* bit n: all of dimension n share the same elements: stride 0 */
    bool
        rows_apart; /* where rows have padding, heads have a row of it, too (BSHD: sequences a position) */
    bool wide; /* and this one has twice the padding: K and V differ in their strides */
};

/* The operands that have memory of their own: q, k, v (not where it is part of k) and what else the
 * problem needs; and the results that it wants. */
size_t tensors_operands(struct attn_tensors *t, const struct attn_problem *problem,
                        const struct tensors_shape *shape,
                        struct tensors_view views[TENSORS_OPERANDS]);
size_t tensors_results(struct attn_tensors *t, const struct attn_problem *problem,
                       const struct tensors_shape *shape,
                       struct tensors_view views[TENSORS_RESULTS]);

/* Elements from a row to the next, and rows of a head (BSHD: positions of a sequence), with that padding. */
size_t tensors_pitch(const struct tensors_view *view, size_t padding);
size_t tensors_positions(const struct tensors_view *view, size_t padding);

/* Sets the tensor's strides for rows `padding` elements apart. */
void tensors_set_strides(const struct tensors_view *view, size_t padding);

/* After all operands have their places: V that is part of K, and the counts of pages and rows. */
void tensors_complete(struct attn_tensors *t, const struct attn_problem *problem,
                      const struct tensors_shape *shape);

/* Bytes from the first element to the end of the last one; SIZE_MAX where they overflow. */
size_t tensors_extent(const struct tensors_view *view, size_t padding);

/* Bytes from its page to the start of operand number `index`: neighbours get different ones. */
static inline size_t tensors_stagger(size_t shift, size_t index)
{
    return shift * (2 * index + 1) % TENSORS_SHIFT_RANGE;
}

size_t tensors_page(void);

/* The bits that nobody may read: a signalling NaN, or a number outside every range. */
uint64_t tensors_padding_poison(enum attn_dtype dtype);

/* Poison into every element of a result, and into the padding between rows. */
void tensors_poison_result(const struct tensors_view *view);
void tensors_poison_padding(const struct tensors_view *view, size_t padding);

/* The bits that nobody may read into every element of an operand without padding. */
void tensors_poison_whole(const struct tensors_view *view);

/* Fill operands other than q, k and v as the input of a case says, unless that is a file. */
bool tensors_fill_tables(struct tensor_set *set, const struct problem_case *c, uint64_t stream,
                         char *message, size_t message_size);
void tensors_fill_masks(struct tensor_set *set, const struct problem_case *c, uint64_t stream);

/* NaN into K, V and scales beyond the ends of sequences, and into pages that no table names. */
bool tensors_poison_tails(struct tensor_set *set, const struct attn_problem *problem, uint64_t key,
                          char *message, size_t message_size);

/* Maps and poisons the results of a set. */
bool tensors_alloc_results(struct tensor_set *set, const struct attn_problem *problem,
                           char *message, size_t message_size);

#endif
