/*
 * operands_unread: tensors of a file that no operand is read from, though they seem meant to be.  Internal to
 * operands_file.
 */
#ifndef HARNESS_PROBLEM_OPERANDS_UNREAD_H
#define HARNESS_PROBLEM_OPERANDS_UNREAD_H

#include "operands_file.h"

/* False fills message: a tensor that nobody reads has a name that means or nearly is an operand's. */
bool operands_none_is_misnamed(const struct operands_file *file, char *message,
                               size_t message_size);

/* False fills message: the problem has no use for an operand in the file.  Whoever stored a mask did not
 * mean that none is applied. */
bool operands_all_are_used(const struct operands_file *file, const struct attn_problem *problem,
                           char *message, size_t message_size);

#endif
