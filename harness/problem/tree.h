/*
 * tree: trees of drafts (mask=tree), given in the text of an input or drawn.
 */
#ifndef HARNESS_PROBLEM_TREE_H
#define HARNESS_PROBLEM_TREE_H

#include "parse.h"

/* Parents of the first n drafts of sequence b: those of the input's tree; without one, each is drawn from
 * -1 and all earlier drafts. */
void tree_make(const struct input *input, size_t b, int32_t *parents, size_t n);

#endif
