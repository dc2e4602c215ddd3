/*
 * tree: trees of drafts (mask=tree), given by an input or drawn.
 */
#ifndef HARNESS_PROBLEM_TREE_H
#define HARNESS_PROBLEM_TREE_H

#include "parse.h"

/* Parents of the first n drafts of sequence b: those in the input's tree, else drawn from -1 and all earlier
 * drafts. */
void tree_make(const struct input *input, size_t b, int32_t *parents, size_t n);

#endif
