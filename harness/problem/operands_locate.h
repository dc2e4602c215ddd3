/*
 * operands_locate: the tensor of an operand in a file, and where in it the elements are.
 */
#ifndef HARNESS_PROBLEM_OPERANDS_LOCATE_H
#define HARNESS_PROBLEM_OPERANDS_LOCATE_H

#include "operands_file.h"

/* An operand's dimensions, in the order of the strides of its struct attn_tensor, and how many elements
 * of the file lie between neighbours.  Dimensions that all share are 1, except the last of a bias or a
 * mask. */
struct operands_source {
    const struct safetensor *tensor;
    size_t dims[4], stride[4];
};

/* Types that operands may have in a file. */
bool operands_is_real(const struct safetensor *t);
bool operands_is_integer(const struct safetensor *t);
bool operands_is_bool(const struct safetensor *t);

/* The tensor of an operand's name, behind the file's prefix; NULL where there is none. */
const struct safetensor *operands_named(const struct operands_file *file, enum operand_id id);

/* The tensor of an operand.  False fills message: it is missing, or of another type or shape than the
 * problem (and what is known of the shape: the rows of k) needs. */
bool operands_locate(const struct operands_file *file, const struct attn_problem *problem,
                     enum operand_id id, const struct tensors_shape *shape,
                     struct operands_source *source, char *message, size_t message_size);

#endif
