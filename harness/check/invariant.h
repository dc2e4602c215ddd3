/*
 * invariant: whether the bits of a row depend on its own sequence alone.
 */
#ifndef HARNESS_CHECK_INVARIANT_H
#define HARNESS_CHECK_INVARIANT_H

#include "problem/tensors.h"

struct checker;

/* Checks that a sequence's results are bitwise the same in every call, on every thread count, alone and in
 * a batch, and whatever its neighbours hold. */
bool check_invariant(struct checker *checker, const struct attn_problem *problem);

/* The operands and results from sequence b and query i on; not for packed or paged ones. */
struct attn_tensors check_part(const struct attn_tensors *whole, size_t b, size_t i);

/* Copies rows of `dims` elements between tensors of one type. */
void check_copy_rows(const struct attn_tensor *to, const struct attn_tensor *from, size_t batch,
                     size_t heads, size_t length, size_t dims);

/* Copies Q, K and V to the operands of `problem`, which may be a part of the problem that they come from. */
void check_part_copy(const struct attn_problem *problem, const struct attn_tensors *to,
                     const struct attn_tensors *from);

#endif
