/*
 * operands_file: the operands of a problem from a safetensors file.
 *
 * Tensors are called PREFIXname, with the names of struct attn_tensors; docs/eval.md lists their types and
 * shapes.  Real numbers are converted to the problem's types, biases and scales to f32.
 */
#pragma once

#include "safetensors.h"
#include "tensors.h"

/* An open file, the prefix of names in it, and where refusals go. */
struct operands_file {
    struct safetensors *file;
    const char *path; /* for messages */
    const char *prefix;
    struct message message;
};

/* Refuses something in the file, and is false, for the caller to return. */
#define operands_refuse(of, ...) refuse_file((of)->message, (of)->path, __VA_ARGS__)

/* The sizes of the file's operands for a problem.  False fills message with the tensor that is missing or has
 * a wrong type or shape. */
bool operands_file_shape(const struct operands_file *file, const struct attn_problem *problem,
                         struct tensors_shape *shape);

/* Allocates a set and reads the operands into it.  False, also for invalid lengths, offsets or pages
 * (attn_tensors_valid()), fills message and leaves nothing allocated. */
bool operands_file_load(const struct operands_file *file, struct tensor_set *set,
                        const struct attn_problem *problem, const struct tensors_layout *layout);

/* The tensor with an operand's name after the file's prefix; NULL: there is none. */
const struct safetensor *operands_named(const struct operands_file *file, enum operand_id id);

/* An operand's dimensions, in the order of the strides of struct attn_tensor, and its strides in the file, in
 * elements. Shared dimensions are 1, except the last of a bias or a mask. */
struct operands_source {
    const struct safetensor *tensor;
    size_t dims[4], stride[4];
};

/* Finds an operand (operands_locate.c).  False fills message: its tensor is missing, or has a type or shape
 * that does not fit the problem or the known part of `shape`, the rows of k. */
bool operands_locate(const struct operands_file *file, const struct attn_problem *problem,
                     enum operand_id id, const struct tensors_shape *shape,
                     struct operands_source *source);

/* Completes the problem of a valid text, NULL: attention without mask and options, by the tensors of the file
 * (operands_complete.c): they determine options and sizes; sq and skv of packed and paged problems are bounds,
 * which may be larger in the text.  False fills message: a tensor that the text or another tensor requires is
 * missing, or two are incompatible. */
bool operands_complete(const struct operands_file *file, const char *text,
                       struct attn_problem *problem);

/* ---- cases whose input is a file or has the clause mask:file ------------------------------- */

/* Whether the file determines sizes that the problem leaves open. */
bool operands_file_has_more(const struct attn_problem *problem);

/* Whether the file that an input names, if it names one, is there and is a safetensors file. */
bool operands_file_opens(const struct input *input, struct message message);

bool operands_file_shape_of(const struct problem_case *c, struct tensors_shape *shape,
                            struct message message);

/* Reads all operands, or the mask of the clause alone. */
bool operands_file_fill(struct tensor_set *set, const struct problem_case *c,
                        struct message message);
