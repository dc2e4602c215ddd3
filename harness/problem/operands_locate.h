/*
 * operands_locate: finds an operand's tensor in a file, and its elements in the tensor.
 */
#ifndef HARNESS_PROBLEM_OPERANDS_LOCATE_H
#define HARNESS_PROBLEM_OPERANDS_LOCATE_H

#include "operands_file.h"

/* An operand's dimensions, in the order of the strides of struct attn_tensor, and its strides in the file, in
 * elements. Shared dimensions are 1, except the last of a bias or a mask. */
struct operands_source {
    const struct safetensor *tensor;
    size_t dims[4], stride[4];
};

/* The tensor with an operand's name after the file's prefix; NULL: there is none. */
const struct safetensor *operands_named(const struct operands_file *file, enum operand_id id);

/* Finds an operand.  False fills message: its tensor is missing, or has a type or shape that does not fit the
 * problem or the known part of `shape`, the rows of k. */
bool operands_locate(const struct operands_file *file, const struct attn_problem *problem,
                     enum operand_id id, const struct tensors_shape *shape,
                     struct operands_source *source, char *message, size_t message_size);

#endif
