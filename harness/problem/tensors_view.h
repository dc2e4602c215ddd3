/*
 * tensors_view: operands and results as blocks of memory, for the files of this folder that allocate, fill
 * and move them.
 *
 * A view is (batch, heads, rows, cols) with dense rows.  LSE is one row of q_len columns per head, although
 * kernels address its elements by stride[2] = 1; the lengths of all sequences are one row.
 */
#pragma once

#include "tensors.h"

#define TENSORS_SHIFT_RANGE 4096 /* bytes: shifts are taken modulo this */

struct tensors_view {
    const char *name;
    enum operand_id id; /* OPERANDS: a result */
    struct attn_tensor *t;
    enum attn_dtype dtype;
    size_t batch, heads, rows, cols;
    enum attn_layout order;
    unsigned dense;  /* index of the stride that belongs to the columns */
    unsigned shared; /* bit n: dimension n has stride 0 */
    /* Padding of rows also adds a row to each head (BSHD: a position to a sequence). */
    bool rows_apart;
    bool wide; /* twice the padding, so that strides of K and V differ */
};

/* The view of one operand, without its tensor. */
struct tensors_view tensors_operand(const struct attn_problem *problem,
                                    const struct tensors_shape *shape, enum operand_id id);

/* Views of the operands with their own memory: q, k, v (unless it is part of k) and others that the problem
 * needs; and of its results.  They point into `t`; NULL: only sizes count.  Return how many. */
size_t tensors_operands(const struct attn_tensors *t, const struct attn_problem *problem,
                        const struct tensors_shape *shape,
                        struct tensors_view views[TENSORS_OPERANDS]);
size_t tensors_results(const struct attn_tensors *t, const struct attn_problem *problem,
                       const struct tensors_shape *shape,
                       struct tensors_view views[TENSORS_RESULTS]);

/* Elements from a row to the next, and rows of a head (BSHD: positions of a sequence), with this padding. */
size_t tensors_pitch(const struct tensors_view *view, size_t padding);
size_t tensors_positions(const struct tensors_view *view, size_t padding);

/* Points the view's tensor at its first element, with strides for rows `padding` elements apart. */
void tensors_point(const struct tensors_view *view, void *data, size_t padding);

/* After all operands point into memory: sets a V that is part of K, and the counts of pages and rows. */
void tensors_complete(struct attn_tensors *t, const struct attn_problem *problem,
                      const struct tensors_shape *shape);

/* Bytes from the first element to the end of the last one; SIZE_MAX: they overflow. */
size_t tensors_extent(const struct tensors_view *view, size_t padding);

/* A number of bytes rounded up to whole pages, and those of an extent and a shift; SIZE_MAX likewise. */
size_t tensors_whole_pages(size_t bytes);
size_t tensors_area(const struct tensors_view *view, size_t padding, size_t most_shift);

/* Offset in bytes of operand number `index` in its page; neighbours get different ones. */
static inline size_t tensors_stagger(size_t shift, size_t index)
{
    return shift * (2 * index + 1) % TENSORS_SHIFT_RANGE;
}

size_t tensors_page(void);

/* Copies the first `cols` elements of row at = {b, h, i} of a view; `from` may have another type, or a single
 * element for all. */
void tensors_copy_row(const struct tensors_view *view, const struct attn_tensor *from,
                      const struct attn_tensor *to, const size_t at[3], size_t cols);

/* The bits of poison that must not be read: a signalling NaN, or a number outside of every range. */
uint64_t tensors_padding_poison(enum attn_dtype dtype);

/* Poison every element of a result; the padding between rows. */
void tensors_poison_result(const struct tensors_view *view);
void tensors_poison_padding(const struct tensors_view *view, size_t padding);

/* Fills an operand without padding with poison that must not be read. */
void tensors_poison_whole(const struct tensors_view *view);

/* Fill operands other than q, k and v by the input of a case, unless that is a file. */
bool tensors_fill_tables(struct tensor_set *set, const struct problem_case *c, uint64_t stream,
                         struct message message);
void tensors_fill_masks(struct tensor_set *set, const struct problem_case *c, uint64_t stream);

/* Fills K, V and scales beyond the ends of sequences, and pages that no table names, with NaN. */
bool tensors_poison_tails(struct tensor_set *set, const struct attn_problem *problem, uint64_t key,
                          struct message message);

/* Maps and poisons the results of a set. */
bool tensors_alloc_results(struct tensor_set *set, const struct attn_problem *problem,
                           struct message message);
