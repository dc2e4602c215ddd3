/*
 * operands_unread: refuses files with tensors that look like operands but are not read.  Internal to
 * operands_file.
 */
#ifndef HARNESS_PROBLEM_OPERANDS_UNREAD_H
#define HARNESS_PROBLEM_OPERANDS_UNREAD_H

#include "operands_file.h"

/* False fills message: the name of a tensor that is not read is a synonym or misspelling of an operand's. */
bool operands_none_is_misnamed(const struct operands_file *file, char *message,
                               size_t message_size);

/* False fills message: the problem does not use an operand of the file, such as a mask, which is meant to be
 * applied. */
bool operands_all_are_used(const struct operands_file *file, const struct attn_problem *problem,
                           char *message, size_t message_size);

#endif
