/*
 * index: lists of chosen keys (keys=index), drawn key by key or in runs of neighbours.
 */
#ifndef HARNESS_PROBLEM_INDEX_H
#define HARNESS_PROBLEM_INDEX_H

#include "parse.h"

/* Fills all lists of the operands, whose lengths must be filled before. */
void index_fill(const struct input *input, const struct attn_problem *problem,
                const struct attn_tensors *tensors);

/* Number of contiguous lists of a KV head: of all sequences if these are packed, else of one. */
size_t index_lists(const struct attn_problem *problem, const struct attn_tensors *tensors);

#endif
