/*
 * invariant: whether the bits of a row depend on its own sequence alone.
 */
#ifndef HARNESS_CHECK_INVARIANT_H
#define HARNESS_CHECK_INVARIANT_H

#include "problem/tensors.h"

struct checker;

/* Bitwise the same over calls and thread counts, alone and in a batch, beside any neighbours. */
bool check_invariant(struct checker *checker, const struct attn_problem *problem);

/* Operands and results of a problem that begin at a sequence and a query; neither packed nor paged. */
struct attn_tensors check_part(const struct attn_tensors *whole, size_t b, size_t i);

/* Copies Q, K and V to the operands of a problem, which may be a part of the one they are from. */
void check_part_copy(const struct attn_problem *problem, const struct attn_tensors *to,
                     const struct attn_tensors *from);

#endif
