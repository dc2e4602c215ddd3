/*
 * operands_file: the operands of a problem from a safetensors file.
 *
 * Tensors are called PREFIXname, with the names of struct attn_tensors, and are read if the problem needs
 * them:
 *
 *     q k v                    real numbers (k and v: i8, f8e4m3 or f8e5m2 if kv_dtype is):
 *                              (B, H, S, D), or (B, S, H * D); packed: (H, rows, D) or
 *                              (1, H, rows, D); paged: (pages, Hkv, page_size, D)
 *     bias mask                real numbers; bool, or u8 of 0 and 1: up to four dimensions that
 *                              broadcast to (B, Hq, Sq, Skv) as in NumPy.  A mask of real numbers is
 *                              the bias if there is no other
 *     parents                  i32 or i64: (B, Sq); packed (rows)
 *     indices                  i32 or i64: (B, Hkv, lists, COUNT); packed (Hkv, lists, COUNT) or
 *                              (1, Hkv, lists, COUNT)
 *     sinks slopes             real numbers: (Hq)
 *     kv_lens                  i32 or i64: (B)
 *     cu_seqlens(_kv)          i32 or i64: (B + 1)
 *     block_table              i32 or i64: (B, pages of a sequence, or more)
 *     k_scale v_scale          real numbers: one, (B, Hkv, Skv), or four dimensions that broadcast to
 *                              (B, Hkv, Skv, D), the last 1 in v_scale; keys packed: B is 1
 *
 * Real numbers are converted to the problem's types, biases and scales to f32.
 */
#ifndef HARNESS_PROBLEM_OPERANDS_FILE_H
#define HARNESS_PROBLEM_OPERANDS_FILE_H

#include "safetensors.h"
#include "tensors.h"

/* An open file, and the prefix of names in it. */
struct operands_file {
    const struct safetensors *file;
    const char *path; /* for messages */
    const char *prefix;
};

/* The sizes of the file's operands for a problem.  False fills message with the tensor that is missing or has
 * a wrong type or shape. */
bool operands_file_shape(const struct operands_file *file, const struct attn_problem *problem,
                         struct tensors_shape *shape, char *message, size_t message_size);

/* Allocates a set and reads the operands into it.  False, also for invalid lengths, offsets or pages
 * (attn_tensors_valid()), fills message and leaves nothing allocated. */
bool operands_file_load(const struct operands_file *file, struct tensor_set *set,
                        const struct attn_problem *problem, const struct tensors_layout *layout,
                        char *message, size_t message_size);

/* Reads the mask of a case with the clause mask:file. */
bool operands_file_mask(struct tensor_set *set, const struct problem_case *c, char *message,
                        size_t message_size);

/* ---- cases whose input is a file ----------------------------------------------------------- */

/* Whether the file determines sizes that the problem leaves open. */
bool operands_file_has_more(const struct attn_problem *problem);

/* Whether the file that an input names, if it names one, is there and is a safetensors file. */
bool operands_file_opens(const struct input *input, char *message, size_t message_size);

bool operands_file_shape_of(const struct problem_case *c, struct tensors_shape *shape,
                            char *message, size_t message_size);
bool operands_file_fill(struct tensor_set *set, const struct problem_case *c, char *message,
                        size_t message_size);

#endif
