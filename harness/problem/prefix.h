/*
 * prefix: keys that all sequences of a case share, in pages that lie in memory once.
 */
#ifndef HARNESS_PROBLEM_PREFIX_H
#define HARNESS_PROBLEM_PREFIX_H

#include "cases.h"

/* Why the input's prefix does not go with a problem and the input's lengths; NULL where it does. */
const char *prefix_misfit(const struct input *input, const struct attn_problem *problem);

/* Cuts it to whole pages of the shortest sequence of a problem. */
void prefix_fit(struct input *input, const struct attn_problem *problem);

/* Pages of it. */
size_t prefix_pages(const struct problem_case *c);

/* Whether key j of sequence b lies in a page that it shares with the first sequence (the first one: with the
 * second). */
bool prefix_holds(const struct attn_problem *problem, const struct attn_tensors *tensors, size_t b,
                  size_t j);

#endif
