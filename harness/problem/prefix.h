/*
 * prefix: keys that all sequences of a case share, in pages that lie in memory once.
 */
#ifndef HARNESS_PROBLEM_PREFIX_H
#define HARNESS_PROBLEM_PREFIX_H

#include "cases.h"

/* Why the input's prefix does not suit a paged problem and the input's lengths; NULL if it does. */
const char *prefix_misfit(const struct input *input, const struct attn_problem *problem);

/* Reduces the prefix to whole pages of the problem's shortest sequence. */
void prefix_fit(struct input *input, const struct attn_problem *problem);

/* Number of pages of the prefix. */
size_t prefix_pages(const struct problem_case *c);

/* Whether key j of sequence b lies in a page that it shares with the first sequence; b = 0: with the
 * second. */
bool prefix_holds(const struct attn_problem *problem, const struct attn_tensors *tensors, size_t b,
                  size_t j);

#endif
