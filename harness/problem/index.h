/*
 * index: lists of chosen keys (keys=index), drawn key by key or in runs of neighbours.
 */
#ifndef HARNESS_PROBLEM_INDEX_H
#define HARNESS_PROBLEM_INDEX_H

#include "parse.h"

/* Fills in all lists of the operands, whose lengths are there. */
void index_fill(const struct input *input, const struct attn_problem *problem,
                const struct attn_tensors *tensors);

/* Lists of a KV head that operands have in a row: of all sequences where they are packed, else of one. */
size_t index_lists(const struct attn_problem *problem, const struct attn_tensors *tensors);

/* Lets a problem's queries see all keys. */
void index_drop(struct attn_problem *problem);

#endif
