/*
 * outputs: a file with the O of every kernel of a case, to find the largest difference between two.
 */
#pragma once

#include "attention.h"

#define OUTPUTS_MAX ((size_t)1024) /* most slots of outputs_compare() */

/* Bytes of a slot; 0 if O is not an output.  Packed sequences fill only a part of it. */
size_t outputs_bytes(const struct attn_problem *problem);

/* Writes O, dense and as f32 (f64 problems: as f64), to slot number `slot` of a memory file. */
bool outputs_store(int fd, size_t slot, const struct attn_problem *problem,
                   const struct attn_tensors *tensors);

/* Copies a slot of one file to a slot of another. */
bool outputs_copy(int from, size_t from_slot, int to, size_t to_slot,
                  const struct attn_problem *problem);

/* The largest difference of an element between any two of the given slots, and which two (indices into
 * slots).  False: fewer than two slots, O is not an output, or the file cannot be read. */
struct outputs_difference {
    double largest;
    size_t a, b;
};
bool outputs_compare(int fd, const struct attn_problem *problem, const size_t *slots, size_t count,
                     struct outputs_difference *difference);
